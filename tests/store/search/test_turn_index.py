"""Rows of the search in past turns, written while other transactions change their conversations (PostgreSQL)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest
from sqlalchemy import Connection, text

from store import Finished, Store
from store.search.turn_index import NewRow, TurnKey
from tests.wait import until

WAITING = text("SELECT count(*) FROM pg_locks WHERE NOT granted")


@pytest.fixture
def store(postgres: str) -> Iterator[Store]:
    with closing(Store(postgres)) as opened:
        yield opened


def fill(store: Store) -> str:
    """A conversation with one answered turn."""
    session = store.create_session("en", 0.3).id
    store.finish_turn(session, store.begin_turn(session, "When?").number, Finished("done", "Now."))
    return session


def build_rows(store: Store, sessions: list[str]) -> list[NewRow]:
    texts = store.turn_index.texts([TurnKey(session, 0, 1) for session in sessions])
    return [NewRow(turn, b"v", b"w") for turn in texts.values()]


def begin(store: Store, pool: ThreadPoolExecutor, work: Callable[[], Any]) -> Future[Any]:
    """Begins work in a thread; returns once it has ended, or waits for another transaction."""
    begun = pool.submit(work)
    with store.engine.connect() as connection:
        until(lambda: begun.done() or connection.execute(WAITING).scalar_one())
    return begun


def test_rows_of_two_conversations_wait_for_both_before_they_take_a_revision(store: Store) -> None:
    first, second = sorted((fill(store), fill(store)))
    rows = build_rows(store, [first, second])
    written = list[Future[int]]()

    with ThreadPoolExecutor(1) as pool:

        def write(_: Connection) -> None:
            written.append(begin(store, pool, lambda: store.turn_index.put(rows, "rules")))

        store.put_away(second, beside=write)  # takes a revision of the same user at its end
        assert written[0].result() == 2
