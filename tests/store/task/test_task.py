"""Tasks of other agents in the database: versions, owners, pages, and what goes with a session."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

import psutil
import pytest

from store import Store
from store.database.engine import IN_MEMORY
from store.task.task import Change
from store.worker import LOST_SECONDS, build_worker_name, is_gone

ONE = Change("t", "c", "working", False, "w", b"body")


@pytest.fixture
def store() -> Iterator[Store]:
    opened = Store(IN_MEMORY).of("ann")
    yield opened
    opened.close()


def test_a_change_needs_the_version_that_was_read(store: Store) -> None:
    assert store.tasks.add(ONE) == 1
    assert store.tasks.add(ONE) is None
    assert store.tasks.save(replace(ONE, body=b"new"), 1) == 2
    assert store.tasks.save(replace(ONE, body=b"late"), 1) is None
    row = store.tasks.get("t")
    assert row is not None
    assert (row.body, row.version) == (b"new", 2)


def test_a_task_is_cancelled_at_any_version_but_once(store: Store) -> None:
    store.tasks.add(ONE)
    gone = replace(ONE, state="canceled", ended=True)
    assert store.tasks.cancel(gone) == 2
    assert store.tasks.cancel(gone) is None


def test_another_user_finds_and_changes_nothing(store: Store) -> None:
    store.tasks.add(ONE)
    store.pushes.put("t", "p", "1.0", b"secret")
    bob = store.of("bob")
    assert bob.tasks.get("t") is None
    assert bob.tasks.page(10) == ([], 0)
    assert bob.tasks.count("c", "working", "") == 0
    assert bob.tasks.of("w", ["working"]) == []
    assert bob.tasks.list_foreign_tasks("other", ["working"]) == []
    assert bob.tasks.add(ONE) is None
    assert bob.tasks.save(ONE, 1) is None
    assert bob.tasks.cancel(ONE) is None
    assert bob.pushes.of("t") == []
    before = store.tasks.get("t")
    bob.tasks.beat("w")
    bob.tasks.remove("t")
    bob.pushes.remove("t")
    assert store.tasks.get("t") == before
    assert [push.body for push in store.pushes.of("t")] == [b"secret"]
    assert [row.id for row in store.everyone.tasks.list_foreign_tasks("other", ["working"])] == ["t"]


def test_pages_go_on_where_the_last_one_ended(store: Store) -> None:
    for number in range(7):
        store.tasks.add(replace(ONE, id=f"t{number}", context=f"c{number % 2}"))
    seen: list[str] = []
    after = None
    while True:
        rows, total = store.tasks.page(3, after=after)
        assert total == 7
        if not rows:
            break
        seen += [row.id for row in rows]
        after = (rows[-1].updated, rows[-1].id)
    assert sorted(seen) == [f"t{number}" for number in range(7)]
    assert store.tasks.page(9, context="c1")[1] == 3
    assert store.tasks.page(9, states=["completed"]) == ([], 0)


def test_a_deleted_session_takes_its_tasks_and_what_was_not_told(store: Store) -> None:
    own = store.create_session("ko", 0.3, alias="mine").id
    for name, context in (("a", own), ("b", "mine"), ("c", "other")):
        store.tasks.add(replace(ONE, id=name, context=context))
        store.pushes.put(name, "p", "1.0", b"")
        store.pushes.keep(name, "p", "text", "w")
    store.of("bob").tasks.add(replace(ONE, id="d", context="mine"))
    store.delete_session(own)
    assert [row.id for row in store.everyone.tasks.list_foreign_tasks("", ["working"])] == ["c", "d"]
    assert [message.task_id for message in store.pushes.waiting()] == ["c"]
    assert store.everyone.pushes.of("a") == []


def test_an_address_is_replaced_by_its_id_and_dropped_with_what_it_was_not_told(store: Store) -> None:
    store.pushes.put("t", "p", "1.0", b"one")
    store.pushes.put("t", "p", "0.3", b"two")
    assert [(push.form, push.body) for push in store.pushes.of("t")] == [("0.3", b"two")]
    message = store.pushes.keep("t", "p", "가\ud800", "w")
    store.pushes.note_failed_try(message.id, 2)
    (kept,) = store.pushes.waiting()
    assert (kept.text, kept.tries) == ("가\ud800", 2)
    assert store.pushes.take(message.id, "w", "other")
    assert not store.pushes.take(message.id, "w", "third")
    store.pushes.remove("t", "p")
    assert store.pushes.waiting() == []


def test_a_process_is_known_by_when_it_began() -> None:
    machine, pid, _ = build_worker_name().split("/")
    assert pid == str(os.getpid())
    assert not is_gone(build_worker_name(), 0.0)
    assert is_gone(f"{machine}/{pid}/1.00", 0.0), "another process had this id"
    free = next(number for number in range(4_000_000, 5_000_000) if not psutil.pid_exists(number))
    assert is_gone(f"{machine}/{free}/1.00", 0.0)


def test_a_process_on_another_machine_is_gone_when_it_was_silent_for_long() -> None:
    import time

    now = time.time()
    assert not is_gone("elsewhere/1/1.00", now)
    assert is_gone("elsewhere/1/1.00", now - LOST_SECONDS - 1)
