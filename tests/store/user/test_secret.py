"""Secrets of the installation: one for each name, the same for everybody who asks."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from store import Store


def test_a_secret_is_made_once_and_kept(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'gieok.db'}"
    store = Store(url)
    first = store.secrets.of("seal")
    assert (len(first), store.of("other").secrets.of("seal")) == (64, first)
    assert store.secrets.of("another") != first
    store.close()
    again = Store(url)
    assert again.secrets.of("seal") == first
    again.close()


def test_processes_that_ask_at_once_get_the_same(tmp_path: Path) -> None:
    stores = [Store(f"sqlite:///{tmp_path / 'gieok.db'}") for _ in range(6)]
    together = threading.Barrier(len(stores))

    def asked(store: Store) -> str:
        together.wait(60)
        return store.secrets.of("seal")

    with ThreadPoolExecutor(len(stores)) as pool:
        assert len(set(pool.map(asked, stores))) == 1
    for store in stores:
        store.close()
