"""Contradictions in an answer's prose, and sentences that only look like one, in both languages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from store.world.record import DEAD, LOST, Changes, Character, Item, Location
from tests.table import table
from world.block import contradictions
from world.block.cut import cut
from world.block.prose import aliases
from world.state import State

ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in Path(__file__).with_name("prose.jsonl").read_text("utf-8").splitlines()
]
WORLDS: dict[str, dict[str, Any]] = {
    "ko": {
        "player": "하준",
        "dead": ["장로 무영", "연화"],
        "friend": "도진",
        "lost": ["푸른 반지", "등잔"],
        "places": ["사당", "시장"],
    },
    "en": {
        "player": "Wren",
        "dead": ["Old Hester", "Bram"],
        "friend": "Joss",
        "lost": ["blue ring", "lantern"],
        "places": ["the shrine", "the market"],
    },
}


def state(language: str, hp: int) -> State:
    told = WORLDS[language]
    people = (
        Character(told["player"], told["places"][0], hp),
        *(Character(name, "", 0, DEAD) for name in told["dead"]),
        Character(told["friend"], told["places"][0]),
    )
    items = tuple(Item(name, LOST) for name in told["lost"])
    return State(told["player"]).after(Changes(people, (), tuple(map(Location, told["places"])), items), 5)


@table("row", ROWS, ids=lambda row: row["text"][:30])
def test_prose(row: dict[str, Any]) -> None:
    before = state(row["language"], 0 if row["kind"] == "no_hp_fights" else 60)
    noticed = contradictions({}, before, row["text"], row["language"])
    assert [(one.kind, one.subject) for one in noticed] == [(row["kind"], row["name"])] * row["contradiction"]


def test_the_last_word_of_a_name_stands_for_it_only_when_nobody_else_has_it() -> None:
    assert aliases("Captain Vane", ["Captain Vane", "Osric"]) == ["Captain Vane", "Vane"]
    assert aliases("Captain Vane", ["Captain Vane", "Edmund Vane"]) == ["Captain Vane"]
    assert aliases("크룩", ["크룩", "고블린왕 크룩"]) == ["크룩"]


@table(
    ("raw", "blocks"),
    [
        ("Rain.\n\n```state\nlocation: the wood\nhp_cha", [{"location": "the wood"}]),
        ("Rain.\n\n```state\nlocation: the wood\nhp_change: -1", [{"location": "the wood"}]),
        ("Rain.\n\n```state\nhp_change: 3\n```\nOn.\n\n```state\nloc", [{"hp_change": 3}, {}]),
        ("Rain.\n\n```state\nlocation: the wood\nmood: calm", None),
        ("Rain.\n\n```state\nlocation: the wood\n```", None),
        ("Rain.\n\nlocation: the wood\nhp_change: -5", None),
        ("Rain.", None),
    ],
)
def test_a_block_whose_end_is_missing_keeps_its_whole_lines(raw: str, blocks: list[dict[str, Any]] | None) -> None:
    assert cut(raw) == blocks
