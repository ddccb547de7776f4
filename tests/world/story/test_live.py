"""What the state in words says, and what it leaves out."""

from __future__ import annotations

from pathlib import Path

from store.world.record import Changes, Character, Relation, StoryTime
from tests.world.tale import tale
from world.story.live import live_state
from world.story.state import StoryState
from world.story.story import Stories


def test_a_relation_without_strength_says_nothing() -> None:
    people = (Character("Aria", "inn", 100), Character("Lina", "inn"), Character("Tom", "inn"))
    felt = (Relation("Lina", "Aria", "friend", 2), Relation("Tom", "Aria", "rival", 0), Relation("Aria", "Tom", "", -1))
    text = live_state(StoryState("Aria").after(Changes(people, felt), 1), "en")
    assert "Relations: Lina → Aria friend (+2), Aria → Tom  (-1)" in text.splitlines()


def test_the_order_of_things_and_the_time_survive_a_stored_state(tmp_path: Path) -> None:
    with tale(tmp_path) as told:
        node = told.say(None, "You pack.", items_gained=["lamp", "rope", "map", "potion ×3"], time="evening, day 2")
        told.rows.set_begin_state(told.world.id, Changes(items=()))
        for turn in range(20):  # further than a stored state
            node = told.say(node, f"You take the {('lamp', 'map', 'rope')[turn % 3]}.", mood="calm")
        node = told.say(node, "You drink.", items_lost=["potion"])
        state = told.state(node)
        anew = Stories(told.store.everyone.worlds).state(told.now(node), told.world)
        assert [*anew.items][::-1] == [*state.items][::-1] == ["potion", "map", "lamp", "rope"]
        assert anew.time == state.time == StoryTime("day 2", "evening")
