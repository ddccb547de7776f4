"""Conversations that were swiped at every turn: their paths have as many branches as turns."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import event, insert, update

from store import Store
from store.database import schema
from store.tree import Alternatives
from tests.steps import count_lines

MANY = 1200


@pytest.fixture
def opened(database: str | None, tmp_path: Path) -> Iterator[Store]:
    store = Store(database or f"sqlite:///{tmp_path / 'own' / 'gieok.db'}")
    yield store
    store.close()


def write_swiped_session(store: Store, count: int) -> str:
    """A conversation of so many turns whose path takes every turn but the first from a branch of its own; what was
    swiped away lies on the branch before. The last turn has a third version, on branch ``count``."""
    session_id, path = store.create_session("en", 0.3).id, [(at, at + 1) for at in range(count)]
    turn = {"session_id": session_id, "question": "q", "answer": "a", "status": "done", "tokens": 1, "started": 0.0}
    ways = [*((at, path[: at + 1]) for at in range(1, count)), (count, [*path[:-1], (count, count)])]
    places = [(at, number) for at in range(count) for number in (at + 1, at + 2) if number <= count] + [(count, count)]
    with store.transaction() as connection:
        rows = [{"session_id": session_id, "id": id, "path": way, "used": 0.0} for id, way in ways]
        connection.execute(insert(schema.branch), rows)
        connection.execute(insert(schema.turn), [turn | {"branch": at, "number": number} for at, number in places])
        own = schema.session.c.id == session_id
        connection.execute(update(schema.session).where(own).values(path=path, turn_count=count))
    return session_id


def test_a_conversation_that_was_swiped_at_every_turn_is_read_switched_and_copied(opened: Store) -> None:
    session_id = write_swiped_session(opened, MANY)
    assert [turn.branch for turn in opened.turns(session_id)] == list(range(MANY - 30, MANY))
    assert opened.tokens_before(session_id, MANY) == MANY - 1
    opened.tree.switch(session_id, MANY, MANY)
    assert opened.session(session_id).history_tokens == MANY
    assert opened.session(opened.tree.copy(session_id, MANY)).turn_count == MANY
    opened.tree.begin(session_id, MANY, "again")
    assert len(opened.turns(session_id, limit=MANY)) == MANY


def test_finding_versions_does_not_read_the_paths_of_all_branches(store: Store) -> None:
    lines = list[int]()
    for count in (100, 400):
        session_id = write_swiped_session(store, count)
        versions = store.tree.alternatives(session_id, [1, 2, count])
        last = Alternatives(count, (count - 2, count - 1, count), 1)
        assert versions == {2: Alternatives(2, (0, 1), 1), count: last}
        assert store.tree.find_continuation(session_id, count) is None
        lines.append(count_lines(lambda: store.tree.alternatives(session_id, [count])))  # noqa: B023
        lines.append(count_lines(lambda: store.tree.find_continuation(session_id, count)))  # noqa: B023
    assert lines[2] < 4 * lines[0]  # a path is as long as there are turns: not all paths, which are 16 times as much
    assert lines[3] < 4 * lines[1]


def test_a_path_of_more_branches_than_a_statement_takes_parameters_is_read(tmp_path: Path) -> None:
    """SQLite's own limit is 32,766; a path as long would take gigabytes here."""
    store = Store(f"sqlite:///{tmp_path / 'gieok.db'}")
    session_id = write_swiped_session(store, MANY)

    @event.listens_for(store.engine, "checkout")
    def narrow(connection: sqlite3.Connection, *_: object) -> None:
        connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 100)

    assert [turn.branch for turn in store.turns(session_id)] == list(range(MANY - 30, MANY))
    assert store.tokens_before(session_id, MANY) == MANY - 1
    store.tree.switch(session_id, MANY, MANY)
    assert store.session(store.tree.copy(session_id, MANY)).turn_count == MANY
    store.tree.cut(session_id, MANY)
    assert store.session(session_id).turn_count == MANY - 1
    store.close()
