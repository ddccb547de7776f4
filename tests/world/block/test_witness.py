"""A small model reads only what stands in the turn: names and numbers that it makes up are left out, and told."""

from __future__ import annotations

from typing import Any

from store.world.record import Character, Location
from tests.table import table
from world.block.witness import MOST_DELTA, filter_witnessed_fields
from world.story.state import StoryState

STATE = StoryState(
    "Aria",
    characters={"Aria": Character("Aria", "the cave"), "Miro": Character("Miro", hp=100)},
    locations={"the inn": Location("the inn", "", ())},
)
TEXT = "I go into the Old  Mill.\nA goblin hits you for 12. You find a brass lamp; 낡은 열쇠를 줍습니다."


@table(
    ("fields", "kept", "refused"),
    [
        ({"location": "old mill"}, {"location": "old mill"}, 0),
        ({"location": "the inn"}, {}, 1),
        ({"location": "the cave"}, {"location": "the cave"}, 0),
        ({"location": "the moon"}, {}, 1),
        ({"hp_change": -12}, {"hp_change": -12}, 0),
        ({"hp_change": 0}, {"hp_change": 0}, 0),
        ({"hp_change": -1}, {}, 1),
        ({"items_gained": ["brass lamp", "낡은 열쇠", "sword"]}, {"items_gained": ["brass lamp", "낡은 열쇠"]}, 1),
        ({"items_lost": "sword"}, {}, 1),
        ({"npc_met": ["goblin", "Miro", "the king"]}, {"npc_met": ["goblin"]}, 2),
        ({"items_gained": [], "mood": "calm"}, {"mood": "calm"}, 0),
    ],
)
def test_only_what_stands_in_the_turn_is_kept(fields: Any, kept: dict[str, Any], refused: int) -> None:
    rest, refusals = filter_witnessed_fields(fields, TEXT, STATE, "en")
    assert (rest, len(refusals)) == (kept, refused)


def test_a_relation_needs_known_people_and_changes_little() -> None:
    far = {"from": "Aria", "to": "goblin", "type": "fear", "delta": -90}
    made_up = {"from": "Aria", "to": "the king", "type": "love", "delta": 5}
    kept, refusals = filter_witnessed_fields({"relationship_changes": [far, made_up]}, TEXT, STATE, "en")
    assert kept == {"relationship_changes": [{**far, "delta": -MOST_DELTA}]}
    assert refusals == ("relationship_changes: Aria → the king does not stand in this scene.",)
