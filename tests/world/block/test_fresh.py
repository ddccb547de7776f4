"""Turns as narrators write them, by somebody who had not read the rules; half of them only look like contradictions.

The rows stay as they were written. ``KNOWN`` are those that code does not get right: no other row may become wrong.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from store.world.record import Changes, Character, Item
from world.block import contradictions, read
from world.state import State

Row = dict[str, Any]
ROWS: list[Row] = [
    json.loads(line) for line in Path(__file__).with_name("fresh_contradictions.jsonl").read_text("utf-8").splitlines()
]
KNOWN = {
    "The door bangs open and Sergeant Vale": "the dead is named in one sentence and speaks as «she» after another",
    "Iris lies in the sand": "who is hurt at 0 HP without fighting looks in the block like one who fights",
}
RIGHT = {"ko": 20, "en": 18}
"""How many rows of each language are right, of 20. Code for 14 and 14 of them was there before the rows were."""


def right(row: Row) -> bool:
    state = State(row["state"]["player"]).after(
        Changes(
            characters=tuple(Character(**one) for one in row["state"]["characters"]),
            items=tuple(Item(**one) for one in row["state"]["items"]),
        ),
        9,
    )
    block = "\n".join(("```state", *(f"{name}: {value}" for name, value in row["fields"].items()), "```"))
    fields = next(iter(read(block)), {})
    return {one.kind for one in contradictions(fields, state, row["answer"], row["language"])} == set(row["kinds"])


def test_as_many_turns_are_right_as_ever() -> None:
    assert (len(ROWS), sum(not row["kinds"] for row in ROWS)) == (40, 20)
    for language, count in RIGHT.items():
        assert sum(right(row) for row in ROWS if row["language"] == language) >= count


def test_only_known_turns_are_wrong() -> None:
    wrong = [row["answer"] for row in ROWS if not right(row)]
    assert [answer for answer in wrong if not answer.startswith(tuple(KNOWN))] == []
    assert len(wrong) == len(KNOWN), "a row that is right now leaves KNOWN, and RIGHT rises"
