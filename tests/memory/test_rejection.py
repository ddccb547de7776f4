"""A fold that is rejected: the memory stays, the turns wait, and sooner or later they are taken in."""

from __future__ import annotations

import pytest

from memory import Memory
from memory.state import PATIENCE
from tests.memory.models import good, saying
from tests.memory.test_memory import fold, talk

BAD = ("The user talks.", "The user talks again.")


def reject(memory: Memory, session: str = "s1", rest: bool = False) -> None:
    report = memory.fold("acme", session, models=saying(*BAD), language="en", rest=rest)
    assert report.status == "rejected"
    assert "could not be read" in report.reason


def test_the_memory_stays_the_turns_wait_and_the_next_turn_takes_them_in(memory: Memory) -> None:
    talk(memory, *range(1, 7))
    fold(memory)
    before = memory.context("acme", "s1", "en")
    talk(memory, *range(7, 12))
    reject(memory)
    after = memory.context("acme", "s1", "en")
    assert (after.whole, after.entities, after.version) == (before.whole, before.entities, 1)
    assert after.waiting == (6, 7, 8, 9, 10, 11)
    assert [turn.number for turn in after.short] == [6, 7, 8, 9, 10, 11]
    assert after.rejection is not None
    assert (after.rejection.first, after.rejection.last, after.rejection.times) == (6, 10, 1)
    assert memory.due("acme", "s1") == [], "not again before something is said"
    talk(memory, 12)
    assert [due.session for due in memory.due("acme", "s1")] == ["s1"]
    fold(memory)
    now = memory.context("acme", "s1", "en")
    assert now.rejection is None
    assert "item 6 costs $600" in now.whole
    assert memory.versions("acme", "s1")[1].cost["calls"] == 3, "the try that was rejected is counted"


def test_after_some_rejections_turns_are_kept_word_for_word(memory: Memory) -> None:
    talk(memory, *range(1, 7))
    for number in range(PATIENCE):
        reject(memory)
        talk(memory, 7 + number)
    memory.fold("acme", "s1", models=saying(*BAD, *BAD), language="en")
    view = memory.context("acme", "s1", "en")
    assert "My item 1 costs $100" in view.whole
    assert 1 not in view.waiting


def test_a_session_that_was_left_is_tried_again_by_itself(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memory.memory.REST_SECONDS", -1.0)
    talk(memory, 1, 2)
    reject(memory, rest=True)
    assert memory.settle(10)
    assert [(due.session, due.rest) for due in memory.due("acme", "s2")] == [("s1", True)]
    memory.fold("acme", "s1", models=good(), language="en", rest=True)
    assert memory.settle(10)
    assert memory.due("acme", "s2") == []
    assert "item 2 costs $200" in memory.context("acme", "s2", "en").text


def test_a_rejection_that_is_taken_back_at_once_is_still_told(memory: Memory) -> None:
    talk(memory, *range(1, 7))
    fold(memory)
    talk(memory, *range(7, 12))

    def step(name: str) -> None:
        if name == "rejected":
            memory.undo("acme", "s1")

    report = memory.fold("acme", "s1", models=saying(*BAD), language="en", step=step)
    assert report.status == "rejected"
    assert "could not be read" in report.reason
    assert memory.context("acme", "s1").rejection is None


def test_a_user_s_memory_that_could_not_be_reached_in_time_is_brought_up_to_date_later(memory: Memory) -> None:
    """What stops a merge, or a lock of the user's memory that somebody else holds, costs nothing but time."""
    talk(memory, *range(1, 7))
    seen: list[str] = []

    def step(name: str) -> None:
        if name == "carrying" and not seen:
            seen.append(memory.fold("acme", "s2", models=good(), language="en").status)

    talk(memory, *range(11, 17), session="s2")
    memory.fold("acme", "s1", models=good(), language="en", step=step)
    assert seen == ["busy"]
    assert memory.settle(10)
    for due in memory.due_all("acme"):
        memory.fold("acme", due.session, models=good(), language="en", rest=due.rest)
    text = memory.context("acme", "s3", "en").text
    assert "item 5 costs $500" in text
    assert "item 15 costs $1500" in text
    assert memory.due("acme", "s2") == []
