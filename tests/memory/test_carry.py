"""What sessions leave in their user's memory: none overwrites another's, and what goes there goes for all."""

from __future__ import annotations

import pytest
import redis
from langchain_core.messages import BaseMessage

from memory import Memory
from memory.change import user_memory
from memory.key import Scope
from memory.state import Entity, State, Version
from model import scripted
from tests.memory.models import faithful, good, saying
from tests.memory.test_memory import fold, forget, of_user, talk


def told(memory: Memory, tenant: str = "acme") -> str:
    """What a new session is told."""
    view = memory.context(tenant, "new", "en", count=lambda text: 0)
    return f"{view.text}\n{view.entity_text}"


def two(memory: Memory) -> None:
    """The user's memory from two sessions, the second one started from the first one's."""
    talk(memory, *range(1, 7))
    fold(memory)
    talk(memory, *range(11, 17), session="s2")
    fold(memory, "s2")


def carry_on(memory: Memory, session: str) -> None:
    """A fold with nothing to ask a model for."""
    assert session in [due.session for due in memory.due("acme", session)]
    assert memory.fold("acme", session, models=saying(), language="en").status == "nothing"
    assert memory.due("acme", session) == []


def test_an_edit_in_one_session_keeps_what_others_told(memory: Memory) -> None:
    two(memory)
    memory.edit("acme", "s1", "The user lists prices.")
    carry_on(memory, "s1")
    assert "The user lists prices." in told(memory)
    assert "item 15 costs $1500" in told(memory)
    assert "item 3 costs $300" not in told(memory)
    memory.edit("acme", "s1", "The user lists many things.")  # and again, once both have written
    carry_on(memory, "s1")
    assert "item 15 costs $1500" in told(memory)
    assert "many things" in told(memory)
    assert "The user lists prices." not in told(memory)


def test_an_imported_session_does_not_take_the_place_of_the_memory_that_is_there(memory: Memory) -> None:
    talk(memory, *range(1, 7))
    fold(memory)
    talk(memory, *range(21, 27), tenant="else", session="x1")
    fold(memory, "x1", "else")
    assert memory.import_("else", memory.export("acme")) == 1  # the user's own is kept; both have one version
    talk(memory, *range(7, 12), tenant="else")
    fold(memory, tenant="else")
    assert "$2500" in told(memory, "else")
    assert "$1000" in told(memory, "else")
    assert "$100\n" not in told(memory, "else"), "what it was told before is older than what is there"


def test_a_version_number_that_comes_again_after_an_undo_is_no_lineage(memory: Memory) -> None:
    two(memory)
    memory.edit("acme", "s3", "The user buys.")  # takes over what both told
    memory.undo("acme", "s2")
    talk(memory, *range(7, 12))
    fold(memory)
    carry_on(memory, "s3")
    assert "$1000" in told(memory)
    assert "The user buys." in told(memory)


def test_what_is_forgotten_in_one_session_is_not_told_to_a_new_one(memory: Memory) -> None:
    two(memory)
    forget(memory, "item 3", 6)
    gone = told(memory)
    assert "item 3 costs $300" not in gone
    assert "item 15 costs $1500" in gone
    carry_on(memory, "s1")
    assert "item 3 costs" not in told(memory)
    assert "item 15: $1500" in told(memory)


def test_a_value_that_is_forgotten_or_removed_leaves_the_user_too(memory: Memory) -> None:
    memory.remember("acme", "s1", "colour", "blue", turn=1)
    memory.remember("acme", "s1", "size", "XL", turn=1)
    two(memory)
    assert "colour: blue" in told(memory)
    forget(memory, "colour", 6)
    assert "colour: blue" not in told(memory)
    memory.remove_entity("acme", "s1", "size")
    carry_on(memory, "s1")
    assert "size: XL" not in told(memory)
    assert "item 15: $1500" in told(memory)


def test_a_session_that_another_has_overtaken_does_not_bring_back_what_it_forgot(memory: Memory) -> None:
    two(memory)
    talk(memory, *range(7, 12))
    forget(memory, "My item 9 costs $900", 11)
    fold(memory)
    assert "item 9 costs" not in told(memory)
    assert all(value in told(memory) for value in ("item 8 costs $800", "item 14 costs $1400"))


def test_turns_that_wait_elsewhere_do_not_bring_back_what_was_forgotten(memory: Memory) -> None:
    talk(memory, *range(1, 7))
    fold(memory)
    talk(memory, 11, 12, session="s2")
    assert memory.settle(10)
    forget(memory, "My item 12 costs $1200", 6)
    memory.fold("acme", "s2", models=good(), language="en", rest=True)
    assert "item 12 costs" not in told(memory)
    assert "item 11 costs $1100" in told(memory)


def test_a_new_session_is_told_a_pin_at_once_and_no_more_once_it_is_off(memory: Memory) -> None:
    memory.pin("acme", "s1", "My item 3 costs $300.")
    assert memory.context("acme", "new", "en").pins == ("My item 3 costs $300.",)
    two(memory)
    memory.unpin("acme", "s1", "My item 3 costs $300.")
    assert memory.context("acme", "new", "en").pins == ()
    talk(memory, *range(7, 12))
    fold(memory)
    assert memory.context("acme", "new", "en").pins == ()


def test_a_pin_that_was_taken_over_is_still_one_after_the_first_fold(memory: Memory) -> None:
    memory.pin("acme", "s1", "My item 11 costs $1100.")
    talk(memory, *range(11, 17), session="s2")
    fold(memory, "s2")
    assert memory.context("acme", "s2", "en").pins == ("My item 11 costs $1100.",)


def test_a_user_who_carries_nothing_gets_no_pin_from_another_session(memory: Memory) -> None:
    memory.set_carries("acme", False)
    memory.pin("acme", "s1", "My item 3 costs $300.")
    memory.set_carries("acme", True)
    assert memory.context("acme", "new", "en").pins == ()


def test_what_is_forgotten_leaves_the_user_also_while_sessions_are_kept_apart(memory: Memory) -> None:
    two(memory)
    memory.set_carries("acme", False)
    forget(memory, "My item 3 costs $300", 6)
    memory.set_carries("acme", True)
    assert "item 3 costs" not in told(memory)
    assert "item 4 costs $400" in told(memory)


def test_what_was_said_while_sessions_are_kept_apart_stays_there(memory: Memory) -> None:
    two(memory)
    memory.set_carries("acme", False)
    talk(memory, *range(7, 12))
    fold(memory)
    memory.set_carries("acme", True)
    talk(memory, *range(12, 17))
    fold(memory)
    assert "item 9 costs" not in told(memory)
    assert "item 15 costs $1500" in told(memory)


def test_a_session_that_the_user_s_memory_has_lost_count_of_is_not_taken_in_again(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.change.user_memory.MOST_CARRIED", 1)
    two(memory)
    talk(memory, *range(7, 12))
    asked = asked_by_a_fold(memory, "s1")
    assert len(asked) == 2  # the session's own, and the user's
    assert all("item 10 costs" in each and "item 1 costs" not in each for each in asked)


def test_a_session_still_takes_the_user_s_place_after_another_was_erased(memory: Memory) -> None:
    two(memory)
    assert memory.settle(10)
    memory.erase("acme", "s1")
    talk(memory, *range(17, 22), session="s2")
    assert len(asked_by_a_fold(memory, "s2")) == 1
    assert "item 20 costs $2000" in told(memory)
    assert "item 3 costs" not in told(memory)


def asked_by_a_fold(memory: Memory, session: str) -> list[str]:
    """The dialogues that a fold puts to the model."""
    asked: list[str] = []

    def spying(messages: list[BaseMessage]) -> str:
        asked.append(str(messages[1].content).split("<dialogue>")[1])
        return faithful(messages)

    memory.fold("acme", session, models=scripted.models(utility=spying), language="en")
    return asked


def test_a_merge_that_is_rejected_keeps_every_value(memory: Memory) -> None:
    two(memory)
    talk(memory, *range(7, 12))
    calls: list[int] = []

    def once(messages: list[BaseMessage]) -> str:
        calls.append(1)
        return faithful(messages) if len(calls) == 1 else "The user talks."

    report = memory.fold("acme", "s1", models=scripted.models(utility=once), language="en")
    assert report.status == "folded"
    assert len(calls) == 3  # the session's, and the user's with one repair
    assert all(f"item {number} costs ${number}00" in told(memory) for number in (*range(1, 11), *range(11, 16)))
    assert memory.settle(10)
    (owner,) = [each for each in memory.export("acme")["memories"] if not each["session"]]
    assert owner["versions"][-1]["origin"] == "merge"
    assert owner["versions"][-1]["cost"]["calls"] == 2


def test_what_changes_in_the_user_s_memory_during_a_merge_stands(memory: Memory) -> None:
    two(memory)
    talk(memory, *range(7, 12))

    def step(name: str) -> None:
        if name == "merged" and "item 3 costs" in told(memory):
            forget(memory, "My item 3 costs $300", 16, "s2")

    memory.fold("acme", "s1", models=good(), language="en", step=step)
    assert "item 3 costs" not in told(memory)
    assert [due.session for due in memory.due("acme", "s1")] == ["s1"]
    memory.fold("acme", "s1", models=good(), language="en")
    assert "item 3 costs" not in told(memory)
    assert all(value in told(memory) for value in ("item 8 costs $800", "item 14 costs $1400"))


@pytest.mark.parametrize("at", ["carrying", "merged", "carried"])
def test_a_session_that_is_erased_while_it_is_first_carried_leaves_nothing(memory: Memory, tcp: str, at: str) -> None:
    talk(memory, *range(11, 17), session="s2")
    fold(memory, "s2")
    talk(memory, *range(1, 7))
    talk(memory, *range(21, 27), session="s3")
    keys = Scope("acme", "s1").key("*")

    def step(name: str) -> None:
        if name == "made":
            fold(memory, "s3")  # so that a merge is needed
            assert memory.settle(10)
        if name == at:
            assert client.keys(keys) != []
            memory.erase("acme", "s1")

    with redis.Redis.from_url(tcp) as client:
        memory.fold("acme", "s1", models=good(), language="en", step=step)
        assert client.keys(keys) == []
    left = told(memory)
    assert not any(f"item {number} costs ${number}00" in left for number in range(1, 7))
    assert not any(f"item {number}: " in left for number in range(1, 7))
    assert all(value in left for value in ("item 14 costs $1400", "item 24 costs $2400"))


def test_a_merge_that_an_erasure_stops_is_made_again(memory: Memory) -> None:
    two(memory)
    talk(memory, *range(7, 12))

    def step(name: str) -> None:
        if name == "merged":
            memory.erase("acme", "s2")

    memory.fold("acme", "s1", models=good(), language="en", step=step)
    assert "$1000" not in of_user(memory)
    assert [due.session for due in memory.due("acme", "s1")] == ["s1"]
    memory.fold("acme", "s1", models=good(), language="en")
    assert "$1000" in of_user(memory)
    assert "$1400" not in told(memory)


def test_a_user_s_memory_that_is_erased_during_a_merge_stays_erased(memory: Memory) -> None:
    two(memory)
    talk(memory, *range(7, 12))
    erased: list[int] = []

    def step(name: str) -> None:
        if name == "merged":
            erased.append(memory.erase_user("acme"))

    memory.fold("acme", "s1", models=good(), language="en", step=step)
    assert erased == [3]
    assert told(memory).strip() == ""
    assert memory.settle(10)
    assert memory.export("acme")["memories"] == []


def test_what_is_forgotten_during_a_merge_does_not_come_in_with_it(memory: Memory) -> None:
    two(memory)
    talk(memory, *range(7, 12))

    def step(name: str) -> None:
        if name == "merged" and "item 9" in memory.context("acme", "s1", "en").text:
            forget(memory, "item 9", 11)

    memory.fold("acme", "s1", models=good(), language="en", step=step)
    assert "item 9 costs" not in told(memory)
    memory.fold("acme", "s1", models=good(), language="en")
    assert "item 8 costs $800" in told(memory)
    assert "item 9 costs" not in told(memory)


def test_a_change_by_hand_touches_only_its_own_lines_and_values() -> None:
    owner = State(
        text="The budget is $150.\nThe user likes tea and travels to Busan with Tom.\nTom is 40 years old.",
        entities=(Entity("budget", "$150", 3), Entity("guest", "Tom", 2)),
        version=4,
    )
    change = Version(
        2,
        "The user likes coffee.",
        "edit",
        0.0,
        prior="The budget is $100.\nThe user likes tea.\nTom is 40 years old.",
        dropped=(Entity("budget", "$100", 1), Entity("guest", "Tom", 1)),
    )
    made = user_memory.by_hand(owner, [change])
    assert made.text.splitlines() == [
        "The budget is $150.",
        "The user likes tea and travels to Busan with Tom.",
        "The user likes coffee.",
    ]
    assert made.entities == (Entity("budget", "$150", 3),)
