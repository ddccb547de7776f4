"""The curator's memory as text."""

from __future__ import annotations

import pytest

from world.curator.notebook import (
    LIMIT,
    Unfit,
    check_memory_text,
    edit_memory_text,
    read_planned_events,
    shorten_memory_text,
    with_event,
)


def test_a_passage_is_replaced_removed_or_added() -> None:
    assert edit_memory_text("The ghost is real. Keep it.", "is real", "is a trick") == "The ghost is a trick. Keep it."
    assert edit_memory_text("One.\nTwo.", "\nTwo.", "") == "One."
    assert edit_memory_text("One.", "", "Two.") == "One.\nTwo."


@pytest.mark.parametrize("old", ["nowhere", "o"])
def test_a_passage_that_is_not_there_once_changes_nothing(old: str) -> None:
    with pytest.raises(Unfit, match="stands"):
        edit_memory_text("foo", old, "x")


def test_a_memory_over_its_limit_is_refused() -> None:
    assert check_memory_text("x" * LIMIT) == "x" * LIMIT
    with pytest.raises(Unfit, match=str(LIMIT)):
        check_memory_text("x" * (LIMIT + 1))
    with pytest.raises(Unfit):
        edit_memory_text("x" * LIMIT, "", "y")


def test_events_stand_in_the_memory_by_turn() -> None:
    memory = with_event(with_event("Intended: the ghost.", 30, "The  bell\nrings."), 12, "Vane's brother comes.")
    assert [(one.turn, one.text) for one in read_planned_events(memory)] == [
        (12, "Vane's brother comes."),
        (30, "The bell rings."),
    ]
    assert memory.startswith("Intended: the ghost.\n- [30] The bell rings.")
    with pytest.raises(Unfit, match="planned already"):
        with_event(memory, 31, "The bell rings.")


def test_a_memory_that_is_too_long_keeps_whole_lines() -> None:
    text = "\n".join(f"line {number}" for number in range(400))
    kept = shorten_memory_text(text)
    assert len(kept) <= LIMIT
    assert text.startswith(kept + "\n")
    assert shorten_memory_text("x" * 5000) == "x" * LIMIT
