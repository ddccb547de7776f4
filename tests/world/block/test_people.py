"""People who travel along, stay behind, go away, die and come back: the tables say where everybody is."""

from __future__ import annotations

from typing import Any

from store.world.record import DEAD, Changes, Character, Location
from tests.table import table
from text.language import Language
from world.block import check_block_fields
from world.block.check import Checked
from world.lore.lorebook import Lorebook
from world.story.live import live_state
from world.story.state import StoryState

BEGIN = StoryState("Rowan").after(
    Changes(
        characters=(
            Character("Rowan", "the inn", 80),
            Character("Lina", "the inn", companion=True),
            Character("Maud", "the inn"),
            Character("Vane", "the mill"),
            Character("Pell", "the inn", 0, DEAD),
        ),
        locations=(Location("the inn"), Location("the mill")),
    ),
    4,
)
NO_BOOK = Lorebook.of(())


def checked(fields: dict[str, Any], before: StoryState = BEGIN, text: str = "") -> Checked:
    return check_block_fields(fields, before, NO_BOOK, before.turn + 1, text, "en")  # type: ignore[arg-type]


def after(fields: dict[str, Any], before: StoryState = BEGIN, text: str = "") -> StoryState:
    return before.after(checked(fields, before, text).changes, before.turn + 1)


def where(state: StoryState) -> dict[str, str]:
    return {name: one.location for name, one in state.characters.items()}


@table(
    ("fields", "places", "along"),
    [
        ({"location": "the mill"}, {"Rowan": "the mill", "Lina": "the mill", "Maud": "the inn"}, ["Lina"]),
        ({"location": "the mill", "companions": []}, {"Lina": "the inn", "Maud": "the inn"}, []),
        ({"location": "the mill", "companions": ["Maud"]}, {"Lina": "the inn", "Maud": "the mill"}, ["Maud"]),
        ({"location": "the mill", "companions": ["Lina", "Vane"]}, {"Vane": "the mill"}, ["Lina", "Vane"]),
        ({"companions": None, "mood": "calm"}, {"Lina": "the inn"}, ["Lina"]),
        ({"npc_left": ["Lina"]}, {"Lina": ""}, []),
        ({"npc_left": ["Maud"]}, {"Maud": "", "Lina": "the inn"}, ["Lina"]),
        ({"npc_left": {"Maud": "the coast"}}, {"Maud": "the coast"}, ["Lina"]),
        ({"npc_left": ["Maud → the coast"]}, {"Maud": "the coast"}, ["Lina"]),
        ({"npc_left": ["Maud"], "npc_location": {"Maud": "the Mill"}}, {"Maud": "the mill"}, ["Lina"]),
        ({"npc_location": [{"name": "Lina", "location": "the mill"}]}, {"Lina": "the mill"}, []),
        ({"npc_location": {"Lina": "the inn"}}, {"Lina": "the inn"}, ["Lina"]),
        ({"location": "the mill", "npc_left": ["Maud"]}, {"Maud": "the inn"}, ["Lina"]),
        ({"location": "the mill", "npc_left": ["Lina"]}, {"Lina": ""}, []),
        ({"npc_met": ["Osric"], "npc_left": ["Osric"]}, {"Osric": ""}, ["Lina"]),
        ({"npc_died": ["Lina"], "location": "the mill"}, {"Lina": "the mill"}, []),
    ],
)
def test_everybody_is_where_the_block_says(fields: dict[str, Any], places: dict[str, str], along: list[str]) -> None:
    result, state = checked(fields), after(fields)
    assert result.refusals == ()
    assert where(state).items() >= places.items()
    assert sorted(name for name, one in state.characters.items() if one.companion) == along


def test_a_person_that_nobody_has_heard_of_goes_nowhere() -> None:
    result = checked({"npc_left": ["Zed"], "npc_location": {"Zed": "the moon"}}, text="Maud laughs.")
    assert {one.name for one in result.changes.characters}.isdisjoint({"Zed"})
    assert result.refusals == (
        "npc_left: Zed does not stand in this scene.",
        "npc_location: Zed does not stand in this scene.",
    )


@table(
    ("language", "lines"),
    [
        ("en", ["Travelling along: Lina", "People here: Pell (HP 0, dead), Maud", "Elsewhere: Vane (the mill)"]),
        ("ko", ["동행: Lina", "함께 있는 인물: Pell (HP 0, 죽음), Maud", "다른 곳에 있는 인물: Vane (the mill)"]),
    ],
)
def test_a_prompt_says_who_comes_along_and_where_the_others_are(language: Language, lines: list[str]) -> None:
    told = live_state(BEGIN, language).split("\n")
    assert [line for line in lines if line not in told] == []


def test_the_dead_live_again_when_the_block_says_so() -> None:
    state = after({"npc_revived": ["Pell"], "npc_met": ["Pell"]})
    assert not state.characters["Pell"].dead
    assert state.characters["Pell"].hp is None
    assert state.characters["Pell"].location == "the inn"


def test_a_second_turn_that_tells_of_a_dead_one_as_alive_is_believed() -> None:
    once = checked({"npc_met": ["Pell"], "mood": "eerie"})
    assert once.refusals == ("npc_met: Pell is dead.",)
    state = BEGIN.after(once.changes, 5)
    assert state.characters["Pell"].dead
    twice = check_block_fields(
        {"relationship_changes": [{"from": "Pell", "to": "Rowan", "delta": 1}]}, state, NO_BOOK, 6, "", "en"
    )
    assert twice.refusals == ()
    assert not state.after(twice.changes, 6).characters["Pell"].dead


def test_a_death_after_that_counts_anew() -> None:
    state = after({"npc_met": ["Pell"]})
    state = after({"npc_met": ["Pell"]}, state)
    state = after({"npc_died": ["Pell"]}, state)
    assert state.characters["Pell"].dead
    assert after({"npc_met": ["Pell"]}, state).characters["Pell"].dead


def test_names_that_are_refused_do_not_sink_the_block() -> None:
    fields = {"npc_met": ["Pell"], "items_lost": ["crown"], "hp_change": -5}
    result = checked(fields)
    assert not result.absurd
    assert len(result.refusals) == 2
    assert after(fields).me.hp == 75
