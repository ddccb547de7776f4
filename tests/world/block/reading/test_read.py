"""Fields of blocks, in the forms in which models write them; a broken line loses nothing but itself."""

from __future__ import annotations

from typing import Any

from tests.table import table
from world.block import read_answer_blocks
from world.block.reading.read import unknown_fields


def block(*lines: str) -> str:
    return "Rain falls.\n\n```state\n" + "\n".join(lines) + "\n```\n"


@table(
    ("lines", "fields"),
    [
        (["location: 숲", "mood: 긴장"], {"location": "숲", "mood": "긴장"}),
        (["Location：숲", "HP Change： -3"], {"location": "숲", "hp_change": -3}),
        (["location: 숲\r", "hp_change: -3\r"], {"location": "숲", "hp_change": -3}),
        (["**location**: the mill", "- **mood**: calm"], {"location": "the mill", "mood": "calm"}),
        (["location: the mill: upper floor", "hp_change: 2"], {"location": "the mill: upper floor", "hp_change": 2}),
        (["items_gained:", "- rope", "- lamp", "mood: calm"], {"items_gained": ["rope", "lamp"], "mood": "calm"}),
        (["items_gained: [rope", "mood: calm"], {"items_gained": "[rope", "mood": "calm"}),
        (["location: 어둠의 숲", "loca"], {"location": "어둠의 숲"}),
        (["location: 숲", "무언가 알 수 없는 줄", "mood: calm"], {"location": "숲", "mood": "calm"}),
        (["weather: rain", "mood: calm"], {"mood": "calm"}),
        (
            ["relationship_changes:", "- 아리아 -> 크룩: hostile (-2)"],
            {"relationship_changes": [{"from": "아리아", "to": "크룩", "type": "hostile", "delta": "-2"}]},
        ),
        (
            ["relationship_changes: [{from: A, to: B, type: friend, delta: 1}]"],
            {"relationship_changes": [{"from": "A", "to": "B", "type": "friend", "delta": 1}]},
        ),
    ],
)
def test_the_fields_of_a_block(lines: list[str], fields: dict[str, Any]) -> None:
    assert read_answer_blocks(block(*lines)) == [fields]


def test_blocks_come_in_their_order_and_empty_ones_not_at_all() -> None:
    raw = block("mood: calm") + block("weather: rain") + block("mood: tense")
    assert [one["mood"] for one in read_answer_blocks(raw)] == ["calm", "tense"]


@table("raw", ["", "Rain falls.", "```state\n```", "```state\nnothing here\n```", "```python\nmood = 1\n```"])
def test_an_answer_without_fields_has_no_block(raw: str) -> None:
    assert read_answer_blocks(raw) == []


def test_fields_that_nobody_asked_for_are_named() -> None:
    block = "…\n```state\nlocation: 숲\ntime: 밤\nquest: {name: x}\nnpc_hp: 3\nmood: 긴장\n```"
    assert unknown_fields(block) == ["quest", "npc_hp"]
    assert unknown_fields('…\n```json\n{"name": 1}\n```') == []


def test_a_macro_for_a_name_is_a_name() -> None:
    (fields,) = read_answer_blocks(
        "```state\nnpc_met: [{{char}}]\nrelationship_changes: [{from: Wim, to: {{user}}, delta: 3}]\n```"
    )
    assert fields["npc_met"] == ["{{char}}"]
    assert fields["relationship_changes"] == [{"from": "Wim", "to": "{{user}}", "delta": 3}]
