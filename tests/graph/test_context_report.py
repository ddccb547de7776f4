"""What is read out of a stored report, which an import may have brought."""

from __future__ import annotations

import pytest

from graph.context.report import list_shown_summaries, read_turn_range


@pytest.mark.parametrize(
    ("item", "turns"),
    [("4", [4]), ("4-6", [4, 5, 6]), ("8-99999999", [8, 9]), ("6-4", []), ("", []), ("1-x", []), ("/0/5/0.87", [])],
)
def test_a_range_of_turns_is_read_up_to_the_last_one(item: str, turns: list[int]) -> None:
    assert list(read_turn_range(item, 9)) == turns


def test_a_summary_whose_turns_all_stand_as_they_were_said_is_not_in_the_prompt() -> None:
    parts = [
        {"name": "summaries", "items": ["1-3", "4-6", "7-9"]},
        {"name": "pinned", "items": ["2"]},
        {"name": "short", "items": ["4", "5", "6", "7"]},
    ]
    assert list_shown_summaries({"turn": 11, "parts": parts}) == ["1-3", "7-9"]
    assert list_shown_summaries({}) == []
