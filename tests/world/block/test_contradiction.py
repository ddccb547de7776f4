"""The contradictions that code can see, and what only looks like one."""

from __future__ import annotations

from typing import Any

from store.world.record import DEAD, HELD, LOST, Changes, Character, PlayerItem
from tests.table import table
from world.block import find_contradictions
from world.story.state import StoryState

STATE = StoryState("아리아").after(
    Changes(
        characters=(
            Character("아리아", "마을", 0),
            Character("도윤", "나루터", 0, DEAD),
            Character("세라", "숲", 30),
            Character("Dorian", "the pier", 0, DEAD),
            Character("늑대", "숲", 0),
        ),
        items=(PlayerItem("은방울", LOST), PlayerItem("검", HELD), PlayerItem("old map", LOST)),
    ),
    9,
)


@table(
    ("fields", "answer", "kinds"),
    [
        ({"npc_met": ["도윤"]}, "", ["dead_talks"]),
        ({"relationship_changes": [{"from": "도윤", "to": "아리아", "delta": 1}]}, "", ["dead_talks"]),
        ({}, '도윤: "어서 오게."', ["dead_talks"]),
        ({}, "**Dorian**: “Well then.”", ["dead_talks"]),
        ({"hp_change": -5}, "", ["no_hp_fights"]),
        ({"relationship_changes": [{"from": "늑대", "to": "아리아", "delta": -3}]}, "", []),
        ({"npc_met": ["도윤이"]}, "", ["dead_talks"]),
        ({"npc_met": ["도윤"], "npc_revived": ["도윤"]}, "", []),
        ({"location": "마을(광장)", "location_moved": False}, "", []),
        ({"location": "마을 광장", "location_moved": False}, "", []),
        ({"location": "숲", "location_moved": False}, "", ["two_places"]),
        ({}, "당신은 은방울을 흔든다.", []),
        ({}, "You remember the old map.", []),
        ({"items_lost": ["은방울"]}, "", ["lost_item"]),
        ({"items_lost": ["은방울 두 개"]}, "", ["lost_item"]),
        ({"npc_met": ["세라"]}, "세라가 웃는다.", []),
        ({"npc_died": ["세라"]}, "세라가 쓰러진다.", []),
        ({}, '도윤의 무덤 앞에 섰다. 세라가 말했다: "그는 좋은 사람이었어."', []),
        ({"hp_change": 10}, "", []),
        ({"location": "숲", "location_moved": True}, "", []),
        ({"location": "마을", "location_moved": False}, "", []),
        ({"location": "숲"}, "", []),
        ({"items_gained": ["은방울"]}, "은방울을 다시 찾았다.", []),
        ({}, "검을 든다.", []),
        ({"npc_met": 5, "hp_change": "x", "location": ["a"], "relationship_changes": "?"}, "", []),
    ],
)
def test_contradictions(fields: dict[str, Any], answer: str, kinds: list[str]) -> None:
    noticed = find_contradictions(fields, STATE, answer, "ko")  # type: ignore[arg-type]
    assert [one.kind for one in noticed] == kinds
    assert all(one.text.endswith(".") for one in noticed)


def test_one_thing_is_told_once() -> None:
    noticed = find_contradictions({"npc_met": ["도윤"]}, STATE, '도윤: "그래."', "ko")
    assert [(one.subject, one.text) for one in noticed] == [("도윤", "도윤은 죽었는데 말을 합니다.")]
