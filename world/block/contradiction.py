"""Contradictions that code sees without understanding language: in a block's fields, and by names in a text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from store.world.record import LOST, Character, FindingKind
from text.hangul import particles
from text.language import Language
from world.block import prose, value
from world.block.field import Field
from world.block.value import Refused
from world.lore.mention import Matcher
from world.state import State

_TEXTS: dict[str, dict[Language, str]] = {
    "dead_met": {"ko": "{name}은(는) 죽었는데 다시 나타났습니다.", "en": "{name} is dead and appears again."},
    "dead_says": {"ko": "{name}은(는) 죽었는데 말을 합니다.", "en": "{name} is dead and speaks."},
    "dead_acts": {"ko": "{name}은(는) 죽었는데 움직입니다.", "en": "{name} is dead and acts."},
    "at_once": {"ko": "{name}이(가) 동시에 두 곳에 있습니다.", "en": "{name} is at two places at once."},
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
_SPOKEN = r"(?:^|\n)[ \t>*_\-—]*{name}[*_]*[ \t]*(?:\([^)\n]{{0,30}}\))?[ \t]*[:：][*_]*[ \t]*[\"“”'「『]"


@dataclass(frozen=True, slots=True)
class Noticed:
    """A contradiction. ``subject``: the name that it is about; ``text``: one sentence in the world's language."""

    kind: FindingKind
    subject: str
    text: str


def contradictions(fields: Mapping[Field, Any], state: State, answer: str, language: Language) -> list[Noticed]:
    """Returns what in a turn contradicts the state before it. ``answer``: as the reader sees it."""
    seen = [
        *_dead(fields, state, answer),
        *_no_hp(fields, state, answer),
        *_places(fields, state),
        *_at_once(state, answer),
        *_items(fields, state, answer),
    ]
    by_subject = {(kind, values["name"]): (code, values) for kind, code, values in seen}
    return [
        Noticed(kind, subject, _text(code, language, values)) for (kind, subject), (code, values) in by_subject.items()
    ]


_Seen = tuple[FindingKind, str, dict[str, str]]


def _dead(fields: Mapping[Field, Any], state: State, answer: str) -> Iterator[_Seen]:
    """Yields the dead who are met, act or speak. Whoever dies in this very turn was alive before it."""
    dead = {one.name for one in state.characters.values() if one.dead}
    for name in dead & {*_names(fields, "npc_met"), *(one for one, _, _ in _relations(fields))}:
        yield "dead_talks", "dead_met", {"name": name}
    for name in dead:
        if re.search(_SPOKEN.format(name=re.escape(name)), answer):
            yield "dead_talks", "dead_says", {"name": name}
        elif prose.acts(answer, prose.aliases(name, state.characters)):
            yield "dead_talks", "dead_acts", {"name": name}


def _no_hp(fields: Mapping[Field, Any], state: State, answer: str) -> Iterator[_Seen]:
    """Yields whoever had no hit points before the turn and is hurt, fights or shows enmity in it. Who gets some back,
    may fight."""
    me, change = state.me, _hp_change(fields)
    if _none_left(me) and (change < 0 or (not change and prose.fights(answer, [me.name]))):
        yield "no_hp_fights", "no_hp", {"name": me.name}
    for one, _, delta in _relations(fields):
        character = state.characters.get(one)
        if character is not None and _none_left(character) and not character.dead and delta < 0:
            yield "no_hp_fights", "no_hp", {"name": one}


def _none_left(character: Character) -> bool:
    return character.hp is not None and character.hp <= 0


def _hp_change(fields: Mapping[Field, Any]) -> int:
    try:
        return value.number(fields.get("hp_change") or 0, value.MOST_HP_CHANGE)
    except Refused:
        return 0


def _at_once(state: State, answer: str) -> Iterator[_Seen]:
    """Yields the people whom the answer has at two known places at the same time."""
    for name in state.characters:
        if prose.two_places(answer, prose.aliases(name, state.characters), state.locations):
            yield "two_places", "at_once", {"name": name}


def _places(fields: Mapping[Field, Any], state: State) -> Iterator[_Seen]:
    """Yields the player who is elsewhere without having moved, by the block's own word."""
    here, there = state.me.location, fields.get("location")
    if not here or value.is_nothing(there) or "location_moved" not in fields:
        return
    try:
        name = value.name(there)
        moved = value.truth(fields["location_moved"])
    except Refused:
        return
    if name != here and not moved:
        yield "two_places", "two_places", {"name": state.player, "here": here, "there": name}


def _items(fields: Mapping[Field, Any], state: State, answer: str) -> Iterator[_Seen]:
    """Yields the lost items that the block takes from the player once more, or that are in use in the answer without
    having been given back."""
    lost = [one.name for one in state.items.values() if one.status == LOST]
    gained = set(_names(fields, "items_gained"))
    again = set(_names(fields, "items_lost"))
    if not lost:
        return
    named = Matcher({name: [at] for at, name in enumerate(lost)}).find(answer)
    for at, name in enumerate(lost):
        if name not in gained and (name in again or (at in named and prose.uses(answer, name, state.player))):
            yield "lost_item", "lost_item", {"name": name}


def _names(fields: Mapping[Field, Any], field: Field) -> list[str]:
    try:
        return value.names(fields.get(field) or [])
    except Refused:
        return []


def _relations(fields: Mapping[Field, Any]) -> Iterator[tuple[str, str, int]]:
    given = fields.get("relationship_changes")
    for entry in given if isinstance(given, list) else [given]:
        try:
            change = value.relation(entry)
        except Refused:
            continue
        yield change.from_char, change.to_char, change.delta


def _text(code: str, language: Language, values: dict[str, str]) -> str:
    text = _TEXTS[code][language].format(**values)
    return particles(text) if language == "ko" else text
