"""The four failures of long stories (specification 1): what the next prompts say after them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from store.world.record import LoreEntry, StoryNode
from tests.world.tale import Tale
from world.prompt.context import build_world_context

LATER = 30
"""How many turns pass after it happened."""


@pytest.fixture
def told(tmp_path: Path) -> Iterator[Tale]:
    told = Tale(tmp_path, language="ko")
    told.rows.put_lore(
        told.world.id,
        [
            LoreEntry(0, "에르겐", "마을 광장의 약초상. 조용한 성격.", layer="A2", location="마을 광장"),
            LoreEntry(0, "불꽃 검", "불의 기운이 깃든 검.", layer="A2"),
        ],
    )
    yield told
    told.close()


def prompt(told: Tale, node: StoryNode, question: str) -> str:
    """The block that changes of the next prompt."""
    state = told.state(node)
    given = told.source.gather_prompt_input(
        told.rows, told.world, told.now(node), state, question, told.embedder.query(question)
    )
    return build_world_context(given).changing


def pass_time(told: Tale, node: StoryNode) -> StoryNode:
    for number in range(LATER):
        node = told.say(node, f"길을 걷는다. {number}", mood="calm")
    told.idle()
    return node


def test_a_dead_npc_is_told_as_dead(told: Tale) -> None:
    first = told.say(None, "에르겐이 웃는다.", location="마을 광장", npc_met=["에르겐"])
    node = pass_time(
        told, told.say(first, "에르겐이 화살에 맞아 숨을 거둔다.", location="마을 광장", npc_died=["에르겐"])
    )
    text = prompt(told, node, "에르겐에게 말을 건다.")
    assert "죽은 인물: 에르겐" in text
    (entry,) = [line for line in text.splitlines() if line.startswith("- 에르겐:")]
    assert entry != "- 에르겐: 마을 광장의 약초상. 조용한 성격."
    assert any(word in entry for word in ("죽", "사망"))


def test_a_dropped_item_is_not_in_the_inventory(told: Tale) -> None:
    first = told.say(None, "검과 물약을 얻는다.", location="대장간", items_gained=["불꽃 검", "치유 물약"])
    assert "인벤토리: 불꽃 검, 치유 물약" in prompt(told, first, "가방을 연다.")
    node = pass_time(told, told.say(first, "검이 늪에 가라앉는다.", items_lost=["불꽃 검"]))
    text = prompt(told, node, "불꽃 검을 뽑는다.")
    assert "인벤토리: 치유 물약" in text
    assert "잃은 물건: 불꽃 검" in text


def test_the_place_is_the_one_moved_to(told: Tale) -> None:
    first = told.say(None, "서쪽 마을에 있다.", location="서쪽 마을", npc_met=["에르겐"])
    node = pass_time(told, told.say(first, "동쪽으로 걸어 항구에 닿는다.", location="동쪽 항구", location_moved=True))
    text = prompt(told, node, "둘러본다.")
    assert "위치: 동쪽 항구" in text
    assert "함께 있는 인물" not in text


def test_no_hit_points_are_told(told: Tale) -> None:
    first = told.say(None, "싸움이 시작된다.", location="어둠의 숲", hp_change=-60)
    node = pass_time(told, told.say(first, "칼에 찔려 쓰러진다.", hp_change=-40))
    assert "HP: 0/100" in prompt(told, node, "계속 싸운다.")


def test_the_state_of_the_turn_is_used_when_the_files_are_of_another_line(told: Tale) -> None:
    first = told.say(None, "서쪽 마을에 있다.", location="서쪽 마을")
    told.say(first, "항구다.", location="동쪽 항구", location_moved=True)
    told.idle()
    assert "위치: 서쪽 마을" in prompt(told, first, "북쪽으로 간다.")
