"""Folders of sessions, on every database; databases of earlier versions; the list of thousands of sessions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, insert, text

from errors import FolderUnknown
from store import Finished, Store
from store.database import schema


@pytest.fixture
def url(database: str | None, tmp_path: Path) -> str:
    return database or f"sqlite:///{tmp_path / 'gieok.db'}"


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    opened = Store(url)
    yield opened
    opened.close()


def talked(store: Store, *questions: str) -> list[str]:
    """A session for each question; returns their ids."""
    ids = [store.create_session("ko", 0.3).id for _ in questions]
    for own, question in zip(ids, questions, strict=True):
        store.begin_turn(own, question)
        store.finish_turn(own, 1, Finished("done", answer="네"))
    return ids


def inside(store: Store, folder: str | None) -> set[str]:
    return {session.title for session in store.sessions(folder=folder)}


def test_sessions_are_moved_and_brought_back_and_outlive_their_folder(store: Store) -> None:
    first, second, third = talked(store, "하나", "둘", "셋")
    travel, work = store.folders.create("  여행\n계획 "), store.folders.create("업무")
    assert travel
    assert work
    assert [folder.name for folder in store.folders.all()] == ["업무", "여행 계획"]
    assert store.folders.create(" \n") is None
    assert store.folders.move([first, second, "gone"], travel.id) == {first: "", second: ""}
    before = store.folders.move([first, third], work.id)
    assert (inside(store, travel.id), inside(store, work.id), inside(store, "")) == ({"둘"}, {"하나", "셋"}, set())
    assert inside(store, None) == {"하나", "둘", "셋"}
    assert store.session(second).folder == travel.id
    store.folders.move_back(before)
    assert (inside(store, travel.id), inside(store, "")) == ({"하나", "둘"}, {"셋"})
    assert set(store.folders.delete(travel.id)) == {first, second}
    assert (store.folders.all(), inside(store, "")) == ([work], {"하나", "둘", "셋"})
    store.folders.restore(travel, [first, second])
    assert inside(store, travel.id) == {"하나", "둘"}
    store.folders.rename(travel.id, "제주")
    store.folders.rename(travel.id, "  ")
    assert [folder.name for folder in store.folders.all()] == ["업무", "제주"]


def test_a_folder_that_was_deleted_elsewhere_takes_nothing(store: Store) -> None:
    (own,) = talked(store, "하나")
    folder = store.folders.create("여행")
    assert folder
    before = store.folders.move([own], folder.id)
    store.folders.delete(folder.id)
    with pytest.raises(FolderUnknown):
        store.folders.move([own], folder.id)
    with pytest.raises(FolderUnknown):
        store.folders.rename(folder.id, "제주")
    store.folders.move_back({**before, own: folder.id})
    assert inside(store, "") == {"하나"}


def test_a_fork_and_a_deleted_chat_stay_in_their_folder_and_a_waiting_message_is_listed_in_it(store: Store) -> None:
    (own,) = talked(store, "하나")
    folder = store.folders.create("여행")
    assert folder
    begun = store.create_session("ko", 0.3).id
    store.outbox.add(begun, "기다리는 말")
    store.folders.move([own, begun], folder.id)
    store.tree.copy(own, 1)
    assert inside(store, folder.id) == {"하나", "하나 (2)", "기다리는 말"}
    assert inside(store, "") == set()
    for session in (own, begun):
        store.put_away(session)
    assert inside(store, folder.id) == {"하나 (2)"}
    for session in (own, begun):
        store.put_away(session, away=False)
    assert inside(store, folder.id) == {"하나", "하나 (2)", "기다리는 말"}


def test_a_database_of_an_earlier_version_gets_folders_and_can_still_be_used_by_it(url: str) -> None:
    old = Store(url)
    (own,) = talked(old, "예전 대화")
    with old.transaction() as connection:
        for statement in (
            "DROP INDEX session_in_folder",
            "ALTER TABLE session DROP COLUMN folder",
            "DROP TABLE folder",
            "DROP TABLE schema_version",
        ):
            connection.execute(text(statement))
    old.close()
    for _ in range(2):  # the second time there is nothing to do
        store = Store(url)
        assert inside(store, "") == {"예전 대화"}
        store.close()
    store = Store(url)
    folder = store.folders.create("여행")
    assert folder
    store.folders.move([own], folder.id)
    columns = ", ".join(column.name for column in schema.session.columns if column.name not in ("id", "folder"))
    with store.transaction() as connection:  # as the earlier version writes
        connection.execute(text(f"INSERT INTO session (id, {columns}) SELECT 'new', {columns} FROM session"))
    assert (inside(store, folder.id), store.session("new").folder) == ({"예전 대화"}, "")
    store.close()


# --- cost: counted, not timed -------------------------------------------------------------------


def fill(store: Store, sessions: int, folder: str = "") -> None:
    """Sessions with a turn each, as far as the list looks."""
    fixed = {"language": "ko", "compression_rate": 0.3, "path": [[0, 1]], "turn_count": 1, "folder": folder}
    rows: list[dict[str, Any]] = [
        {**fixed, "id": f"{folder}s{number:06}", "title": f"이야기 {number}", "created": number, "updated": number}
        for number in range(sessions)
    ]
    with store.transaction() as connection:
        connection.execute(insert(schema.session), rows)


def steps(store: Store, folder: str) -> int:
    """How much SQLite does for a page of a folder, in tens of steps of its virtual machine."""
    count = 0

    def tick() -> int:
        nonlocal count
        count += 1
        return 0

    with store.transaction() as connection:
        driver: Any = connection.connection.driver_connection
        driver.set_progress_handler(tick, 10)
    assert len(store.sessions(31, folder=folder)) == 31
    driver.set_progress_handler(None, 0)
    return count


def test_a_page_of_the_list_costs_the_same_among_5_000_sessions(tmp_path: Path) -> None:
    small, large = (Store(f"sqlite:///{tmp_path / name}.db") for name in ("small", "large"))
    for store, count in ((small, 50), (large, 5000)):
        fill(store, count)
        fill(store, 50, "f1")
    said: list[str] = []

    @event.listens_for(large.engine, "before_cursor_execute")
    def note(_c: object, _k: object, statement: str, parameters: object, _x: object, _m: object) -> None:
        said.append(statement)

    for folder in ("", "f1"):
        assert steps(large, folder) <= 1.2 * steps(small, folder)
    assert len(said) == 4, "two statements for a page"
    with large.transaction() as connection:
        asked = said[-1].replace("?", "''", 2).replace("?", "31")
        how = "\n".join(row.detail for row in connection.execute(text(f"EXPLAIN QUERY PLAN {asked}")))
    assert "USING INDEX session_in_folder" in how
    assert "TEMP B-TREE" not in how
    small.close()
    large.close()
