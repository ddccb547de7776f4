"""Turns as narrators write them, by somebody who had not read the rules; half of them only look like contradictions.

The rows stay as they were written: they measure, and nothing is fitted to them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench.world_block import whole
from store.world.record import Changes, Character, PlayerItem
from world.block import find_contradictions, read_answer_blocks
from world.story.state import StoryState

Row = dict[str, Any]
ROWS: list[Row] = [
    json.loads(line) for line in Path(__file__).with_name("fresh_contradictions.jsonl").read_text("utf-8").splitlines()
]
FINDINGS: list[Row] = [
    json.loads(line) for line in Path(__file__).with_name("fresh_findings.jsonl").read_text("utf-8").splitlines()
]
"""Forty more, written before what code found in them was looked at: 16 contradict, 24 only look like it."""
PRECISION = 0.9
"""The share of findings that must be right (decision 22)."""
RIGHT = {"ko": 14, "en": 13}
"""How many rows of each language are right, of 20: what code sees without understanding sentences (decision 22)."""


def right(row: Row) -> bool:
    return found(row) == set(row["kinds"])


def found(row: Row) -> set[str]:
    """What code finds in a turn."""
    state = StoryState(row["state"]["player"]).after(
        Changes(
            characters=tuple(Character(**one) for one in row["state"]["characters"]),
            items=tuple(PlayerItem(**one) for one in row["state"]["items"]),
        ),
        9,
    )
    block = whole(row["fields"])
    fields = next(iter(read_answer_blocks(block)), {})
    return {one.kind for one in find_contradictions(fields, state, row["answer"], row["language"])}


def test_as_many_turns_are_right_as_ever() -> None:
    assert (len(ROWS), sum(not row["kinds"] for row in ROWS)) == (40, 20)
    for language, count in RIGHT.items():
        assert sum(right(row) for row in ROWS if row["language"] == language) >= count


def test_what_is_found_is_right() -> None:
    assert (len(FINDINGS), sum(bool(row["kinds"]) for row in FINDINGS)) == (40, 16)
    kinds = [(row, kind) for row in FINDINGS for kind in found(row)]
    assert len(kinds) >= 12
    assert sum(kind in row["kinds"] for row, kind in kinds) >= PRECISION * len(kinds)
