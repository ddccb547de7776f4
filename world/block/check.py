"""Checks what a state block says against the state of the story, and works out what changes (specification 12.7).

Every field is checked by itself: sound ones count, the others are refused with a sentence. A block that is mostly wrong
changes nothing. Texts and places of lorebook entries follow by code (``world.block.lore``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from store.world.record import Changes
from text.language import Language
from world.block import value
from world.block.effect import person, place, thing
from world.block.effect.draft import SHARE, ChangesDraft
from world.block.episode import build_turn_episode
from world.block.field import FIELDS, Field
from world.block.lore import mark_touched_entries
from world.block.reading.template import is_template
from world.block.refusal import render_refusal
from world.block.time import read_story_time
from world.block.value import ValueRefusal
from world.lore.lorebook import Lorebook
from world.naming.resolve import NameResolver
from world.story.state import StoryState


@dataclass(frozen=True, slots=True)
class Checked:
    """What a block comes to. ``refusals``: why fields were not taken; ``fields``: the fields as they were written, as
    plain data for the record; ``absurd``: nothing of the block counts."""

    changes: Changes
    refusals: tuple[str, ...]
    fields: dict[str, Any]
    absurd: bool = False


def check_block_fields(
    fields: Mapping[Field, Any], state: StoryState, book: Lorebook, turn: int, text: str, language: Language
) -> Checked:
    """Returns the changes that a block leads to. ``state``: before the turn; ``turn``: its number; ``text``: question
    and answer as the reader sees them, for the lorebook entries that they mention; ``language``: the world's."""
    draft = ChangesDraft(state, language, NameResolver(state, book, text))
    given = {name: fields[name] for name in FIELDS if name in fields and _has_said_value(name, fields[name])}
    absurd = not _take_fields(draft, given)
    if absurd:
        refusals = [render_refusal("", "absurd", language)]
        draft = ChangesDraft(state, language, NameResolver(state, book, text), refusals=refusals)
    thing.use_named_things(draft, text)
    after = draft.state(turn)
    lore, happened = (
        mark_touched_entries(book, after, draft.find_touched(), text, turn, language),
        build_turn_episode(draft.deeds, after, turn, language),
    )
    changes = replace(draft.changes(), lore=lore, episode=happened)
    return Checked(changes, tuple(draft.refusals), _record_fields(given), absurd)


def _has_said_value(name: Field, given: Any) -> bool:
    """Returns whether a value says something. That nobody travels along does; a field without a value does not."""
    nobody = name == "companions" and given not in (None, "")
    return (nobody or not value.is_nothing(given)) and not is_template(name, given)


def _take_fields(draft: ChangesDraft, given: Mapping[Field, Any]) -> bool:
    """Takes the fields; returns False when the block as a whole is worthless."""
    for name, take in _TAKE.items():
        if name not in given:
            continue
        try:
            take(draft, given[name], given)
        except ValueRefusal as error:
            if error.code == "too_many":
                return False
            draft.refuse(name, error)
    person.join_companions(draft)
    return len(given) < 2 or draft.unreadable <= SHARE * len(given)


def _set_mood(draft: ChangesDraft, given: Any, _: Mapping[Field, Any]) -> None:
    draft.mood = value.read_name_value(given, value.WORD_CHARS)


def _pass_time(draft: ChangesDraft, given: Any, _: Mapping[Field, Any]) -> None:
    draft.time = read_story_time(given, draft.before.time)


_TAKE: dict[Field, Callable[[ChangesDraft, Any, Mapping[Field, Any]], None]] = {
    "companions": person.set_companions,
    "location": place.move_player,
    "location_moved": place.check_moved,
    "hp_change": thing.change_hp,
    "npc_revived": person.revive_people,
    "npc_met": person.meet_people,
    "npc_died": person.kill_people,
    "npc_left": person.part_people,
    "npc_location": person.place_people,
    "items_lost": thing.lose_things,
    "items_gained": thing.gain_things,
    "items_used": thing.use_things,
    "relationship_changes": person.relate_people,
    "location_status": place.set_place_status,
    "time": _pass_time,
    "mood": _set_mood,
}
"""What every field does, in this order: who comes along moves with the player; whoever is met and leaves or dies in the
same turn is met first; what is dropped and taken up again is held at the end."""


def _record_fields(given: Mapping[Field, Any]) -> dict[str, Any]:
    """Returns the fields as JSON data: YAML also knows dates and sets."""
    plain: dict[str, Any] = json.loads(json.dumps(given, default=str, ensure_ascii=False))
    return plain
