"""Names that differ in case, articles and spaces only are one; what is copied from the instruction says nothing."""

from __future__ import annotations

from store.world.record import Changes, Character, Location, PlayerItem
from tests.table import table
from text.language import Language
from world.block import build_block_instruction, check_block_fields, read_answer_blocks
from world.lore.lorebook import Lorebook
from world.naming.spelling import find_spelling
from world.story.state import StoryState

STATE = StoryState("Aria").after(
    Changes(
        characters=(Character("Aria", "the Dark Forest", 80), Character("Ergen", "the mill")),
        locations=(Location("the Dark Forest"),),
        items=(PlayerItem("치유 물약"),),
    ),
    4,
)


@table(
    ("name", "wanted"),
    [
        ("dark forest", "the Dark Forest"),
        ("치유물약", "치유 물약"),
        ("the mill", "the mill"),
        ("Theodore", "Theodore"),
        ("a", "a"),
        ("", ""),
    ],
)
def test_a_name_is_spelled_as_it_is_known(name: str, wanted: str) -> None:
    assert find_spelling(name, ["the Dark Forest", "치유 물약", "odore"]) == wanted


def test_a_known_place_thing_and_person_are_not_made_twice() -> None:
    fields = read_answer_blocks(
        "```state\nlocation: dark forest\nlocation_moved: false\nitems_lost: [치유물약]\nnpc_met: [ergen]\n```"
    )[0]
    checked = check_block_fields(fields, STATE, Lorebook.of([]), 5, "", "en")
    after = STATE.after(checked.changes, 5)
    assert checked.refusals == ()
    assert (set(after.characters), set(after.locations)) == ({"Aria", "Ergen"}, {"the Dark Forest"})
    assert after.items["치유 물약"].status == "lost"


@table("language", ["ko", "en"])
def test_a_copied_instruction_changes_nothing(language: Language) -> None:
    checked = check_block_fields(
        read_answer_blocks(build_block_instruction(language))[0], STATE, Lorebook.of([]), 5, "", language
    )
    assert (checked.fields, checked.refusals) == ({}, ())
    assert checked.changes.characters == ()
    assert checked.changes.items == ()
