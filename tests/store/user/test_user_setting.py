"""What users have set for themselves, on each database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from store import Store


@pytest.fixture
def store(database: str | None, tmp_path: Path) -> Iterator[Store]:
    """A store on each database that there is."""
    opened = Store(database or f"sqlite:///{tmp_path / 'gieok.db'}")
    yield opened
    opened.close()


def test_values_come_back_as_they_were_set_and_the_last_one_counts(store: Store) -> None:
    values = {"language": "ko", "compression_rate": 0.35, "memory_tool_only": False, "budget_memory": 300}
    for name, value in ({"budget_memory": 7} | values).items():
        store.user_settings.write(name, value)
    store.user_settings.write("budget_memory", 300)
    assert store.user_settings.read() == values


def test_removing_takes_only_the_users_own_and_only_what_is_named(store: Store) -> None:
    other = store.of("other")
    for each in (store, other):
        each.user_settings.write("theme", "Dark")
        each.user_settings.write("language", "en")
    store.user_settings.remove(["theme", "never-set"])
    assert store.user_settings.read() == {"language": "en"}
    assert other.user_settings.read() == {"theme": "Dark", "language": "en"}


def test_a_model_of_a_chat_is_kept_and_taken_back(store: Store) -> None:
    session = store.create_session("ko", 0.3).id
    model = {"kind": "hosted", "url": "http://127.0.0.1:9/v1", "name": "모델"}
    store.set_model(session, model)
    assert store.session(session).model == model
    store.set_model(session, None)
    assert store.session(session).model is None
