"""Contradictions that code sees without understanding language: in a block's fields, and by exact names in a text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from store.world.record import LOST, FindingKind
from text.hangul import fit_particles
from text.language import Language
from world.block import value
from world.block.count import read_thing_counts
from world.block.field import Field
from world.block.value import ValueRefusal
from world.lore.lorebook import Lorebook
from world.naming.resolve import NameResolver
from world.naming.spelling import reduce_name
from world.naming.thing import find_thing_name
from world.story.state import StoryState

_TEXTS: dict[str, dict[Language, str]] = {
    "dead_met": {"ko": "{name}은(는) 죽었는데 다시 나타났습니다.", "en": "{name} is dead and appears again."},
    "dead_says": {"ko": "{name}은(는) 죽었는데 말을 합니다.", "en": "{name} is dead and speaks."},
    "no_hp": {"ko": "{name}은(는) HP가 0인데 계속 싸웁니다.", "en": "{name} has 0 HP and goes on fighting."},
    "two_places": {
        "ko": "이동하지 않았는데 {here}이(가) 아니라 {there}에 있습니다.",
        "en": "Nobody moved, yet the story is at {there} instead of {here}.",
    },
    "lost_item": {
        "ko": "{name}은(는) 잃어버렸는데 다시 쓰입니다.",
        "en": "{name} was lost and is in use again.",
    },
}
NO_BOOK = Lorebook.of(())
_SPOKEN = r"(?:^|\n)[ \t>*_\-—]*{name}[*_]*[ \t]*(?:\([^)\n]{{0,30}}\))?[ \t]*[:：][*_]*[ \t]*[\"“”'「『]"


@dataclass(frozen=True, slots=True)
class Noticed:
    """A contradiction. ``subject``: the name that it is about; ``text``: one sentence in the world's language."""

    kind: FindingKind
    subject: str
    text: str


def find_contradictions(
    fields: Mapping[Field, Any], state: StoryState, answer: str, language: Language, book: Lorebook = NO_BOOK
) -> list[Noticed]:
    """Returns what in a turn contradicts the state before it. ``answer``: as the reader sees it. Only what the block
    itself says, and a dead one before a spoken line: a text that names somebody or something may remember it."""
    names = NameResolver(state, book, answer)
    seen = [
        *_find_acting_dead(fields, state, answer, names),
        *_no_hp(fields, state),
        *_find_place_contradiction(fields, state, names),
        *_find_items_lost_again(fields, state),
    ]
    by_subject = {(kind, values["name"]): (code, values) for kind, code, values in seen}
    return [
        Noticed(kind, subject, _render_contradiction(code, language, values))
        for (kind, subject), (code, values) in by_subject.items()
    ]


_THINGS: tuple[Field, Field] = ("items_gained", "items_lost")
_Seen = tuple[FindingKind, str, dict[str, str]]


def _find_acting_dead(
    fields: Mapping[Field, Any], state: StoryState, answer: str, names: NameResolver
) -> Iterator[_Seen]:
    """Yields the dead who are met, act or speak, unless the block says that they live again. Whoever dies in this very
    turn was alive before it."""
    back = set(map(names.resolve_person, _read_field_names(fields, "npc_revived")))
    dead = {one.name for one in state.characters.values() if one.dead} - back
    acting = (
        *_read_field_names(fields, "npc_met"),
        *_read_field_names(fields, "companions"),
        *_list_feeling_people(fields),
    )
    for name in dead & set(map(names.resolve_person, acting)):
        yield "dead_talks", "dead_met", {"name": name}
    for name in dead:
        if re.search(_SPOKEN.format(name=re.escape(name)), answer):
            yield "dead_talks", "dead_says", {"name": name}


def _no_hp(fields: Mapping[Field, Any], state: StoryState) -> Iterator[_Seen]:
    """Yields the player who had no hit points before the turn and loses some in it."""
    me = state.me
    if me.hp is not None and me.hp <= 0 and _is_player_hurt(fields):
        yield "no_hp_fights", "no_hp", {"name": me.name}


def _is_player_hurt(fields: Mapping[Field, Any]) -> bool:
    try:
        return value.read_whole_number(fields.get("hp_change", 0), value.MOST_HP_CHANGE) < 0
    except ValueRefusal:
        return False


def _find_place_contradiction(fields: Mapping[Field, Any], state: StoryState, names: NameResolver) -> Iterator[_Seen]:
    """Yields the player who is elsewhere without having moved, by the block's own word; not one who is at a part of the
    place, which has its name in it."""
    here, there = state.me.location, fields.get("location")
    if not here or value.is_nothing(there) or "location_moved" not in fields:
        return
    try:
        name = names.resolve_place(value.read_name_value(there))
        moved = value.read_truth_value(fields["location_moved"])
    except ValueRefusal:
        return
    part = reduce_name(here) in reduce_name(name) or reduce_name(name) in reduce_name(here)
    if not moved and not part:
        yield "two_places", "two_places", {"name": state.player, "here": here, "there": name}


def _find_items_lost_again(fields: Mapping[Field, Any], state: StoryState) -> Iterator[_Seen]:
    """Yields the lost items that the block takes from the player once more, and does not give back."""
    lost = [one.name for one in state.items.values() if one.status == LOST]
    gained, again = (
        {find_thing_name(name, lost) for name in _read_thing_names(fields, one)}
        for one in ("items_gained", "items_lost")
    )
    for name in lost:
        if name in again - gained:
            yield "lost_item", "lost_item", {"name": name}


def _read_field_names(fields: Mapping[Field, Any], field: Field) -> list[str]:
    try:
        return value.read_name_values(fields.get(field) or [])
    except ValueRefusal:
        return []


def _read_thing_names(fields: Mapping[Field, Any], field: Field) -> list[str]:
    try:
        return [name for name, _ in read_thing_counts(fields.get(field) or [])]
    except ValueRefusal:
        return []


def _list_feeling_people(fields: Mapping[Field, Any]) -> Iterator[str]:
    """Yields whose feelings change."""
    given = fields.get("relationship_changes")
    for entry in given if isinstance(given, list) else [given]:
        try:
            yield value.read_relation_change(entry).from_char
        except ValueRefusal:
            continue


def _render_contradiction(code: str, language: Language, values: dict[str, str]) -> str:
    text = _TEXTS[code][language].format(**values)
    return fit_particles(text) if language == "ko" else text
