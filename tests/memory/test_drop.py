"""Forgetting by line: exactly what was chosen goes, everywhere, and what was said so far does not bring it back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from memory import Line, Memory, MemoryTurn
from memory.change.drop import rid, without
from memory.key import Scope
from memory.state import Entity, State
from model.modelset import ModelSet
from tests.memory.conftest import Opened, free_port, valkey
from tests.memory.models import good, reply, saying, small
from tests.memory.test_memory import forget, talk

TOLD = ("My dog is Rex.", "Our daughter's lessons cost $300.", "Our son's lessons cost $300.", "I like jazz.")
HELD = State(
    text="The user likes tea.\nturn 2: The rent is $900.\nturns 3-5: My dog is Rex · My cat is Tom",
    entities=(Entity("rent", "$900", 2), Entity("Rent", "$950", 3)),
    pins=("I am allergic to peanuts",),
)


def tell(memory: Memory, *told: str, first: int = 1) -> None:
    for number, each in enumerate(told, first):
        memory.note_turn("acme", "s1", number, each, "Noted.")


def test_exactly_these_lines_go() -> None:
    left = without(HELD, ["my cat is Tom", "rent: $900", "I am allergic to peanuts.", "the user likes"], 5)
    assert left.text == "The user likes tea.\nturn 2: The rent is $900.\nturns 3-5: My dog is Rex"
    assert left.entities == HELD.entities[1:]
    assert left.pins == ()
    assert without(HELD, ["turn 2: The rent is $900."], 5).text.splitlines()[1] == HELD.text.splitlines()[2]


def test_an_earlier_state_comes_back_without_what_was_forgotten_since() -> None:
    now = without(HELD, ["My dog is Rex", "The user likes tea."], 5)
    back = rid(HELD, [what for what, _ in now.forgotten], now)
    assert back.text == now.text
    assert rid(HELD, ["The user likes tea."], HELD) == HELD


def test_all_that_memory_holds_is_listed_with_numbers(memory: Memory) -> None:
    tell(memory, *TOLD, "What is my dog called?", "The fee is $30.")
    memory.fold("acme", "s1", models=small(), language="en")
    memory.remember("acme", "s1", "locker", "47", turn=6)
    memory.pin("acme", "s1", "My dog is Rex")
    listed = memory.lines("acme", "s1")
    assert listed == [
        Line(1, "My dog is Rex", "pin", 0),
        Line(2, "Our daughter's lessons cost $300", "memory", 2),
        Line(3, "Our son's lessons cost $300", "memory", 3),
        Line(4, "I like jazz", "memory", 4),
        Line(5, "locker: 47", "entity", 6),
        Line(6, "The fee is $30.", "turn", 6),
    ]
    assert [(line.text, line.turn) for line in memory.lines("acme", "new")][1:3] == [
        ("Our daughter's lessons cost $300", 0),
        ("Our son's lessons cost $300", 0),
    ]
    assert memory.lines("acme", "s1", user="somebody else") == listed
    assert memory.lines("acme", "new", user="somebody else") == []


def test_a_value_that_the_answer_gave_is_listed_too(memory: Memory) -> None:
    memory.note_turn("acme", "s1", 1, "Book it.", "Done! Your number is XK-4412. Anything else?")
    assert [line.text for line in memory.lines("acme", "s1")] == ["Book it.", "Your number is XK-4412."]


@pytest.mark.parametrize("models", [good, small])
def test_what_was_chosen_goes_and_nothing_beside_it(memory: Memory, models: Callable[[], ModelSet]) -> None:
    tell(memory, *TOLD, "Fine.", "Good.")
    memory.fold("acme", "s1", models=models(), language="en")
    dropped = forget(memory, "daughter", 6)
    assert dropped
    assert all("daughter" in each for each in dropped)
    tell(memory, "Fine again.", "And again.", "So so.", "Well.", "Bye.", first=7)
    memory.fold("acme", "s1", models=models(), language="en", rest=True)
    for session in ("s1", "new"):
        text = memory.context("acme", session, "en").text
        assert "daughter" not in text
        assert all(word in text for word in ("Rex", "son's lessons", "jazz"))


@pytest.mark.parametrize("models", [good, small])
def test_undoing_the_fold_does_not_bring_it_back(memory: Memory, models: Callable[[], ModelSet]) -> None:
    """Neither the earlier text nor the turns that wait again."""
    tell(memory, *TOLD, "Fine.", "Good.")
    memory.fold("acme", "s1", models=models(), language="en")
    tell(memory, "Fine again.", "And again.", "So so.", "Well.", "Bye.", first=7)
    short = reply("The user likes jazz.", gone=["all: Rex, $300"])
    memory.fold("acme", "s1", models=saying(short), language="en")
    assert forget(memory, "daughter", 11) == []
    memory.drop("acme", "s1", [TOLD[1]], turn=11)
    assert "daughter" not in memory.undo("acme", "s1").whole
    memory.undo("acme", "s1")
    memory.fold("acme", "s1", models=models(), language="en", rest=True)
    text = memory.context("acme", "s1", "en", count=lambda text: 0).text
    assert "daughter" not in text
    assert "jazz" in text


def test_undoing_the_forgetting_itself_brings_it_back(memory: Memory) -> None:
    tell(memory, *TOLD, "Fine.", "Good.")
    memory.fold("acme", "s1", models=small(), language="en")
    forget(memory, "Rex", 6)
    assert [each.origin for each in memory.versions("acme", "s1")] == ["fold", "forget"]
    assert "Rex" in memory.undo("acme", "s1").text


def test_going_back_in_the_conversation_does_not_bring_it_back(memory: Memory) -> None:
    tell(memory, *TOLD, "Fine.", "Good.")
    memory.fold("acme", "s1", models=small(), language="en")
    forget(memory, "Rex", 6)
    path = [MemoryTurn(number, each, "Noted.") for number, each in enumerate((*TOLD, "Not fine."), 1)]
    assert memory.follow("acme", "s1", lambda first: path[first - 1 :], 5)
    memory.fold("acme", "s1", models=small(), language="en", rest=True)
    text = memory.context("acme", "s1", "en").text
    assert "Rex" not in text
    assert "Not fine" in text


def test_it_is_not_recalled_until_it_is_said_again(memory: Memory) -> None:
    tell(memory, *TOLD)
    assert any("Rex" in line for line in memory.recall("acme", "s1", "my dog"))
    forget(memory, "Rex", 4)
    assert not any("Rex" in line for line in memory.recall("acme", "s1", "my dog"))
    tell(memory, "My dog is Rex.", first=5)
    assert any("Rex" in line for line in memory.recall("acme", "s1", "my dog"))


def test_while_redis_is_away_it_waits_and_is_done_later(opened: Opened, tmp_path: Path) -> None:
    port = free_port()
    with valkey(tmp_path, port, "--appendonly", "yes"):
        memory = opened(redis_url=f"redis://127.0.0.1:{port}/0")
        talk(memory, *range(1, 7))
        memory.fold("acme", "s1", models=small(), language="en")
        assert memory.settle(10)
    assert memory.lines("acme", "s1")[0].text == "My item 1 costs $100"
    assert memory.drop("acme", "s1", ["My item 1 costs $100"], turn=6) is None
    with valkey(tmp_path, port, "--appendonly", "yes"):
        assert memory.wait(10)
        assert memory.settle(10)
        for session in ("s1", "new"):
            text = memory.context("acme", session, "en").text
            assert "$100" not in text
            assert "$200" in text


def test_a_wish_that_an_earlier_release_left_waiting_is_done(memory: Memory) -> None:
    tell(memory, *TOLD)
    memory._archive.queue(Scope("acme", "s1"), "me", "forget", {"what": "My dog is Rex", "turn": 4, "at": 0.0})
    memory.fold("acme", "s1", models=small(), language="en", rest=True)
    text = memory.context("acme", "s1", "en").text
    assert "Rex" not in text
    assert "jazz" in text
