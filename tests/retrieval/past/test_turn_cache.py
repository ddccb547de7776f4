"""The tables of a process: only so many of them stay, however many users search."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from weakref import WeakKeyDictionary

import pytest

from retrieval.past import turn_cache
from retrieval.past.turn_cache import current_table
from retrieval.past.turn_table import TABLE_BYTES, TurnTable
from store import Store

ROOM = 5


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(f"sqlite:///{tmp_path / 'gieok.db'}")
    yield opened
    opened.close()


def search(store: Store, user: str) -> TurnTable:
    with current_table(store.of(user).turn_index, "rules") as table:
        return table


def test_users_without_turns_take_room_too(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn_cache, "_kept", WeakKeyDictionary())
    monkeypatch.setattr(turn_cache, "MOST_BYTES", ROOM * TABLE_BYTES)
    for number in range(20):
        search(store, f"user{number}")
    last = [f"user{number}" for number in range(20 - ROOM, 20)]
    assert [user for user, _ in turn_cache._kept[store.engine]] == last


def test_a_table_stays_while_there_is_room(store: Store) -> None:
    first = search(store, "one")
    search(store, "two")
    assert search(store, "one") is first
