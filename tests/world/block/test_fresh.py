"""Turns as narrators write them, by somebody who had not read the rules; half of them only look like contradictions.

The rows stay as they were written: they measure, and nothing is fitted to them.
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
RIGHT = {"ko": 14, "en": 14}
"""How many rows of each language are right, of 20: what code sees without understanding sentences (decision 50)."""


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
