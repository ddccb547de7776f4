"""The user's character has one name and one row, whatever clients, models and users call him."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from model import scripted
from settings import load_settings
from store import Store
from store.world.record import Changes, Character, NewNode, Relation, StoryNode, World
from tests.table import table
from tests.world.tale import block
from world.block import check_block_fields
from world.engine import WorldEngine
from world.lore.lorebook import Lorebook
from world.naming.merge import find_unclear, keep_names_apart, merge_names, split_names
from world.story.state import StoryState
from world.story.told import StoryMessage

NO_BOOK = Lorebook.of(())


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[WorldEngine]:
    settings = load_settings(data_dir=tmp_path)
    store, models = Store(settings.database), scripted.build_scripted_models([], [])
    opened = WorldEngine.open(settings, store, lambda: models)
    yield opened
    opened.close()
    store.close()


def told(engine: WorldEngine, *lines: StoryMessage, answer: str, **fields: Any) -> StoryNode:
    """A request of a client with its answer."""
    begun = engine.begin(lines)
    return engine.finish(begun, answer + block(**fields), answer, None, None)


def said(engine: WorldEngine, world: World, parent: StoryNode | None, text: str, **fields: Any) -> StoryNode:
    """A turn of a world with its block."""
    node = engine.store.worlds.add(world.id, parent, NewNode(text, (text,), text + block(**fields), "raw"))
    engine.work_off(node)
    return engine.store.worlds.node(node.id)


RELATION = [{"from": "세라", "to": "민수", "type": "호감", "delta": 2}]


def test_a_world_that_a_client_makes_has_the_name_of_its_persona(engine: WorldEngine) -> None:
    card = StoryMessage("system", "너는 세라다. [Persona: 민수]")
    node = told(
        engine,
        card,
        StoryMessage("user", "안녕"),
        answer="세라가 웃는다.",
        npc_met="[세라]",
        relationship_changes=RELATION,
    )
    state = engine.state(node)
    assert (state.player, {*state.characters} - {"민수"}) == ("민수", {"세라"})
    assert [*state.relations] == [("세라", "민수")]


def test_a_name_that_comes_later_is_the_players_from_then_on(engine: WorldEngine) -> None:
    lines = [StoryMessage("user", "안녕")]
    first = told(engine, *lines, answer="세라가 때린다.", location="숲", hp_change=-15, npc_met="[세라]")
    assert engine.state(first).player == "주인공"
    lines += [StoryMessage("assistant", "세라가 때린다."), StoryMessage("user", "왜?", name="민수")]
    second = told(engine, *lines, answer="세라가 민수를 본다.", relationship_changes=RELATION)
    assert second.parent == first.id
    state = engine.state(second)
    assert (state.player, state.me.hp, state.me.location) == ("민수", 85, "숲")
    assert {*state.characters} == {"민수", "세라"}
    assert [*state.relations] == [("세라", "민수")]


def test_who_may_be_the_player_is_asked_about_while_he_has_no_name(engine: WorldEngine) -> None:
    card = StoryMessage("system", "너는 세라다.")
    node = told(
        engine,
        card,
        StoryMessage("user", "안녕"),
        answer="세라가 민수를 보고 웃는다.",
        location="숲",
        npc_met="[세라]",
        relationship_changes=RELATION,
    )
    state = engine.state(node)
    assert find_unclear(state, "person") == [("주인공", "민수")]
    one = state.after(merge_names(state, "person", "민수", "주인공"), 1)
    assert ({*one.characters}, [*one.relations]) == ({"주인공", "세라"}, [("세라", "주인공")])
    assert find_unclear(one, "person") == []
    assert find_unclear(state.after(keep_names_apart("person", "민수", "주인공"), 1), "person") == []
    two = one.after(split_names(one, "person", "민수"), 2)
    assert {*two.characters} == {"주인공", "세라", "민수"}


@table("name", ["세라", "왕", "도윤"])
def test_a_player_with_a_name_and_people_with_a_place_are_no_question(name: str) -> None:
    people = (Character("주인공", "숲", 100), Character("세라", "숲"), Character("왕"), Character("도윤", "성"))
    felt = tuple(Relation("세라", other, "호감", 1) for other in ("왕", "도윤"))
    assert find_unclear(StoryState("주인공").after(Changes(people, felt), 1), "person") == []
    named = StoryState("아리아").after(Changes((*people, Character("민수")), (Relation("세라", "민수", "호감", 1),)), 1)
    assert not any(name in pair for pair in find_unclear(named, "person"))


def test_a_renamed_player_is_one_person_in_all_turns(engine: WorldEngine) -> None:
    world = engine.store.worlds.create("숲", "ko")
    begin = Changes(
        (Character("주인공", "마을", 100), Character("세라", "숲")), (Relation("주인공", "세라", "호감", 1),)
    )
    engine.store.worlds.set_begin_state(world.id, begin)
    nodes: list[StoryNode] = []
    for turn in range(1, 21):  # further than a stored state
        relation = [{"from": "주인공", "to": "세라", "type": "호감", "delta": 1}]
        fields = {"location": f"곳 {turn}", "hp_change": -1, "relationship_changes": relation}
        nodes.append(said(engine, world, nodes[-1] if nodes else None, f"세라와 {turn}", **fields))
    engine.rename_player(world, "민수")
    for node in (None, nodes[4], nodes[-1]):
        state = engine.state(node, engine.store.worlds.world(world.id))
        assert {*state.characters} == {"민수", "세라"}
        assert [*state.relations] == [("민수", "세라")]
    assert (state.me.hp, state.me.location, state.relations["민수", "세라"].strength) == (80, "곳 20", 21)
    node = said(engine, world, nodes[-1], "민수와 주인공", hp_change=-10, npc_met="[주인공, 민수]")
    assert engine.state(node).me.hp == 70
    engine.rename_player(engine.store.worlds.world(world.id), "주인공")  # and back
    state = engine.state(node)
    assert (state.player, {*state.characters}, state.me.hp) == ("주인공", {"주인공", "세라"}, 70)


def test_whom_the_story_knows_under_the_new_name_is_the_player(engine: WorldEngine) -> None:
    world = engine.store.worlds.create("숲", "ko")
    first = said(engine, world, None, "세라와 주인공", location="숲", hp_change=-15, npc_met="[세라]")
    mine = [{"from": "세라", "to": "주인공", "type": "호감", "delta": 3}]
    second = said(engine, world, first, "세라와 주인공.", relationship_changes=mine)
    third = said(engine, world, second, "세라와 민수", relationship_changes=RELATION)
    assert "민수" in engine.state(third).characters
    engine.rename_player(world, "민수")
    state = engine.state(third)
    assert {*state.characters} == {"민수", "세라"}
    assert (state.me.hp, state.me.location) == (85, "숲")
    assert state.relations["세라", "민수"] == Relation("세라", "민수", "호감", 5)


@table("me", ["me", "I", "나", "myself", "yourself", "Yourself", "저", "너", "<user>", "민수 (player)", "민수(주인공)"])
def test_words_for_oneself_are_the_player(me: str) -> None:
    state = StoryState("아리아").after(Changes((Character("아리아", "숲", 100), Character("세라", "숲"))), 1)
    change = [{"from": "세라", "to": me, "type": "호감", "delta": 2}]
    checked = check_block_fields({"relationship_changes": change}, state, NO_BOOK, 2, "세라와 민수", "ko")
    assert [(one.from_char, one.to_char) for one in checked.changes.relations] == [("세라", "아리아")]
