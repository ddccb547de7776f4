"""Two names become one person or place, and two again, with nothing lost; what may be one is asked about."""

from __future__ import annotations

from store.world.change import build_plain_changes, changes_of
from store.world.record import Changes, Character, Location, Relation
from world.block import check_block_fields
from world.lore.lorebook import Lorebook
from world.naming.merge import find_unclear, keep_names_apart, merge_names, split_names
from world.story.state import StoryState

BEGIN = StoryState("Rowan").after(
    Changes(
        characters=(
            Character("Rowan", "the old mill", 80),
            Character("Captain", "the mill", 40),
            Character("Captain Vane", "", None),
            Character("Tom", "the old mill"),
        ),
        relations=(
            Relation("Captain", "Rowan", "hostile", -2),
            Relation("Captain Vane", "Rowan", "hostile", -1),
            Relation("Captain", "Captain Vane", "odd", 1),
        ),
        locations=(
            Location("the mill", "A mill.", ("the weir",)),
            Location("the old mill", "", ()),
            Location("the weir", "", ("the mill",)),
        ),
    ),
    4,
)


def test_two_people_become_one_and_two_again() -> None:
    assert find_unclear(BEGIN, "person") == [("Captain", "Captain Vane")]
    one = BEGIN.after(merge_names(BEGIN, "person", "Captain", "Captain Vane"), 4)
    assert set(one.characters) == {"Rowan", "Captain Vane", "Tom"}
    assert one.characters["Captain Vane"] == Character("Captain Vane", "the mill", 40)
    assert dict(one.relations) == {("Captain Vane", "Rowan"): Relation("Captain Vane", "Rowan", "hostile", -3)}
    assert one.further_names("person") == {"Captain Vane": ["Captain"]}
    two = one.after(split_names(one, "person", "Captain"), 4)
    assert two.characters["Captain"] == BEGIN.characters["Captain"]
    assert two.relations["Captain", "Rowan"].strength == -2
    assert two.relations["Captain Vane", "Rowan"].strength == -1
    assert two.characters["Captain Vane"] == BEGIN.characters["Captain Vane"]
    assert find_unclear(two, "person") == []
    assert two.further_names("person") == {}


def test_whoever_became_one_is_met_as_one_and_the_state_survives_its_snapshot() -> None:
    one = BEGIN.after(merge_names(BEGIN, "person", "Captain", "Captain Vane"), 4)
    stored = StoryState("Rowan").after(changes_of(build_plain_changes(one.changes())), 4)
    assert (stored.characters, stored.aliases) == (one.characters, one.aliases)
    changes = check_block_fields({"npc_met": ["the Captain"]}, stored, Lorebook.of(()), 5, "", "en").changes
    assert stored.after(changes, 5).characters["Captain Vane"].location == "the old mill"
    assert "Captain" not in stored.after(changes, 5).characters


def test_two_that_stay_apart_are_not_asked_about_again() -> None:
    begin = BEGIN.after(Changes((Character("Captain Holt"),)), 4)
    assert len(find_unclear(begin, "person")) == 2
    apart = begin.after(keep_names_apart("person", "Captain", "Captain Vane"), 4)
    assert find_unclear(apart, "person") == [("Captain", "Captain Holt")]
    assert set(apart.characters) == set(begin.characters)
    assert apart.further_names("person") == {}


def test_what_a_turn_changed_since_stays_when_two_are_split() -> None:
    one = BEGIN.after(merge_names(BEGIN, "person", "Captain", "Captain Vane"), 4)
    later = one.after(Changes((Character("Captain Vane", "the weir", 5),)), 5)
    two = later.after(split_names(later, "person", "Captain"), 6)
    assert two.characters["Captain Vane"] == Character("Captain Vane", "the weir", 5)
    assert two.characters["Captain"] == BEGIN.characters["Captain"]


def test_two_places_become_one_with_their_people_and_ways() -> None:
    assert find_unclear(BEGIN, "place") == [("the mill", "the old mill")]
    one = BEGIN.after(merge_names(BEGIN, "place", "the mill", "the old mill"), 4)
    assert one.locations["the old mill"] == Location("the old mill", "A mill.", ("the weir",))
    assert one.locations["the weir"].adjacent == ("the old mill",)
    assert "the mill" not in one.locations
    assert one.characters["Captain"].location == "the old mill"
    two = one.after(split_names(one, "place", "the mill"), 4)
    assert dict(two.locations) == dict(BEGIN.locations)
    assert dict(two.characters) == dict(BEGIN.characters)
    assert find_unclear(two, "place") == []


def test_the_player_keeps_the_name_of_the_story() -> None:
    begin = BEGIN.after(Changes(characters=(Character("Rowan Hale", "the mill"),)), 4)
    one = begin.after(merge_names(begin, "person", "Rowan Hale", "Rowan"), 4)
    assert one.me.location == "the old mill"
    assert not one.me.companion
