"""Files of conversations: which message they go with, and what happens to them with branches, copies and deletion."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from sqlalchemy import inspect, text

from errors import SessionUnknown
from store import Store
from store.database import library_table
from store.turn.attachment import NEXT

ONE, TWO = ("a.pdf", "key-1"), ("b.md", "key-2")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(f"sqlite:///{tmp_path / 'gieok.sqlite'}")


def session(store: Store) -> str:
    return store.create_session("en", 0.3).id


def names(store: Store, own: str, number: int) -> list[str]:
    turn = store.turn(own, number)
    assert turn is not None
    return [each["name"] for each in turn.files]


def test_a_turn_takes_the_files_of_its_message_and_those_that_wait_for_the_next(store: Store) -> None:
    own = session(store)
    first, second = (store.outbox.add(own, asked) for asked in ("first?", "second?"))
    store.attachments.add(own, [ONE], first)
    store.attachments.add(own, [TWO], second)
    store.attachments.add(own, [("c.txt", "key-3")])
    store.begin_turn(own, "first?")
    assert names(store, own, 1) == ["a.pdf", "c.txt"]
    store.begin_turn(own, "second?")
    assert names(store, own, 2) == ["b.md"]
    assert [each.message for each in store.attachments.of(own)] == [None] * 3
    store.begin_turn(own, "third?")
    assert names(store, own, 3) == []


def test_files_of_a_message_that_is_taken_back_go_with_the_next(store: Store) -> None:
    own = session(store)
    message = store.outbox.add(own, "first?")
    store.attachments.add(own, [ONE], message)
    store.outbox.remove(message)
    assert [each.message for each in store.attachments.of(own)] == [NEXT]
    store.begin_turn(own, "other?")
    assert names(store, own, 1) == ["a.pdf"]


def test_a_newer_file_of_the_same_name_takes_the_place(store: Store) -> None:
    own = session(store)
    store.attachments.add(own, [ONE])
    store.attachments.add(own, [("a.pdf", "key-9"), TWO])
    assert [(each.name, each.key) for each in store.attachments.of(own)] == [("a.pdf", "key-9"), TWO]


def test_another_version_of_a_turn_has_its_files_and_a_copy_those_of_its_turns(store: Store) -> None:
    own = session(store)
    for number, file in enumerate((ONE, TWO), 1):
        store.attachments.add(own, [file])
        store.begin_turn(own, f"question {number}")
    store.tree.begin(own, 1, "asked otherwise")
    assert names(store, own, 1) == ["a.pdf"]
    store.tree.switch(own, 1, 0)
    copy = store.tree.copy(own, 1)
    assert [each.name for each in store.attachments.of(copy)] == ["a.pdf"]
    store.delete_session(own)
    with pytest.raises(SessionUnknown):
        store.attachments.of(own)
    assert [each.key for each in store.attachments.of(copy)] == ["key-1"]


def test_conversations_with_files_that_were_never_begun_are_known(store: Store) -> None:
    begun, waiting, left, empty = (session(store) for _ in range(4))
    for own in (begun, waiting, left):
        store.attachments.add(own, [ONE])
    store.begin_turn(begun, "question")
    store.outbox.add(waiting, "question")
    now = time.time()
    assert store.attachments.find_abandoned_sessions(now + 1) == [left]
    assert store.attachments.find_abandoned_sessions(store.session(left).created) == []
    assert empty


def test_a_database_of_an_earlier_version_gets_its_columns_and_keeps_its_rows(
    database: str | None, tmp_path: Path
) -> None:
    address = database or f"sqlite:///{tmp_path / 'old.sqlite'}"
    store = Store(address)
    own = session(store)
    store.begin_turn(own, "question")
    with store.transaction() as connection:
        for table, column in (("session", "collections"), ("turn", "files"), ("retrieval_document", "collection")):
            connection.execute(text(f"ALTER TABLE {table} DROP COLUMN {column}"))
        connection.execute(text("DROP TABLE attachment"))
    store.close()
    store = Store(address)
    assert store.session(own).collections is None
    assert names(store, own, 1) == []
    store.set_collections(own, ["mine"])
    assert store.session(own).collections == ["mine"]
    columns = {each["name"]: each for each in inspect(store.engine).get_columns(library_table.document.name)}
    assert not columns["collection"]["nullable"]
    store.close()
    Store(address).close()
