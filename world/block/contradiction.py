"""Contradictions that code sees without understanding language: in a block's fields, and by exact names in a text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from store.world.record import LOST, Character, FindingKind
from text.hangul import particles
from text.language import Language
from world.block import value
from world.block.field import Field
from world.block.narration import of_absence, of_earlier, sentences
from world.block.sign import attacks, in_two_places, speaks
from world.block.spelling import bare
from world.block.value import Refused
from world.lore.mention import Matcher, plain
from world.state import State

_TEXTS: dict[str, dict[Language, str]] = {
    "dead_met": {"ko": "{name}은(는) 죽었는데 다시 나타났습니다.", "en": "{name} is dead and appears again."},
    "dead_says": {"ko": "{name}은(는) 죽었는데 말을 합니다.", "en": "{name} is dead and speaks."},
    "no_hp": {"ko": "{name}은(는) HP가 0인데 계속 싸웁니다.", "en": "{name} has 0 HP and goes on fighting."},
    "two_places": {
        "ko": "이동하지 않았는데 {here}이(가) 아니라 {there}에 있습니다.",
        "en": "Nobody moved, yet the story is at {there} instead of {here}.",
    },
    "twice": {
        "ko": "{name}은(는) 같은 때에 {there}에도 있습니다.",
        "en": "{name} is at {there} at the same moment too.",
    },
    "lost_item": {
        "ko": "{name}은(는) 잃어버렸는데 다시 쓰입니다.",
        "en": "{name} was lost and is in use again.",
    },
}
_COMMON = re.compile(
    "노인|노파|여인|남자|여자|소년|소녀|아이|청년|사내|병사|기사|상인|사제|마녀|마법사|촌장|대장|두목|족장|여왕|주인|주민|경비병?|문지기|"
    "선장|도적|산적|해적|고블린|오크|늑대|누나|언니|오빠|아저씨|아주머니|할머니|할아버지"
)
"""Last words of Korean names that anybody may have: «늙은 상인». English ones begin with a small letter."""
_ARTICLE = re.compile(r"^(?:the|an?) ")
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
        *_twice(state, answer),
        *_items(fields, state, answer),
    ]
    by_subject = {(kind, values["name"]): (code, values) for kind, code, values in seen}
    return [
        Noticed(kind, subject, _text(code, language, values)) for (kind, subject), (code, values) in by_subject.items()
    ]


_Seen = tuple[FindingKind, str, dict[str, str]]


def _dead(fields: Mapping[Field, Any], state: State, answer: str) -> Iterator[_Seen]:
    """Yields the dead who are met, act or speak. Whoever dies in this very turn was alive before it."""
    for one in (one for one in state.characters.values() if one.dead):
        names = _forms(one.name, state)
        if not names.isdisjoint((*_names(fields, "npc_met"), *(name for name, _, _ in _relations(fields)))):
            yield "dead_talks", "dead_met", {"name": one.name}
        if any(re.search(_SPOKEN.format(name=re.escape(name)), answer) or speaks(name, answer) for name in names):
            yield "dead_talks", "dead_says", {"name": one.name}


def _forms(name: str, state: State) -> set[str]:
    """Returns a name, and its last word where that alone names nobody else: «크룩» of «고블린왕 크룩»."""
    last = name.rpartition(" ")[2]
    proper = len(last) > 1 and not _COMMON.fullmatch(last) and not last[0].islower()
    alone = all(last not in one for one in state.characters if one != name)
    return {name, last} if proper and alone else {name}


def _no_hp(fields: Mapping[Field, Any], state: State, answer: str) -> Iterator[_Seen]:
    """Yields whoever had no hit points before the turn and attacks, is hurt or shows enmity in it."""
    me = state.me
    change = _hp_change(fields)
    if _none_left(me) and (change < 0 or (not change and attacks(me.name, answer))):
        yield "no_hp_fights", "no_hp", {"name": me.name}
    for one, _, delta in _relations(fields):
        character = state.characters.get(one)
        if character is not None and _none_left(character) and not character.dead and delta < 0:
            yield "no_hp_fights", "no_hp", {"name": one}


def _none_left(character: Character) -> bool:
    return character.hp is not None and character.hp <= 0


def _hp_change(fields: Mapping[Field, Any]) -> int:
    try:
        return value.number(fields.get("hp_change", 0), value.MOST_HP_CHANGE)
    except Refused:
        return 0


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
    if not moved and not _within(name, here) and not _within(here, name):
        yield "two_places", "two_places", {"name": state.player, "here": here, "there": name}


def _twice(state: State, answer: str) -> Iterator[_Seen]:
    """Yields whoever is in two places at one moment, by the narrator's own words."""
    here = state.me.location
    places = {*state.locations, *(one.location for one in state.characters.values())}
    for name in sorted(state.characters):
        if name in answer and (there := in_two_places(name, here, sorted(places), answer)):
            yield "two_places", "twice", {"name": name, "there": there}


def _within(place: str, wider: str) -> bool:
    """Returns whether a place has the wider one's name and then its own: «동쪽 항구 선착장» lies in «동쪽 항구»."""
    one, other = (_ARTICLE.sub("", plain(name)) for name in (place, wider))
    return bare(one) == bare(other) or re.match(rf"{re.escape(other)}(?:\W|$)", one) is not None


def _items(fields: Mapping[Field, Any], state: State, answer: str) -> Iterator[_Seen]:
    """Yields the lost items that the block takes from the player once more, or that the narrator names without giving
    them back or telling that they are gone. Characters may talk of what they like."""
    lost = [one.name for one in state.items.values() if one.status == LOST]
    gained = set(_names(fields, "items_gained"))
    again = set(_names(fields, "items_lost"))
    if not lost:
        return
    used = "\n".join(one for one in sentences(answer) if not of_absence(one) and not of_earlier(one))
    named = Matcher({name: [at] for at, name in enumerate(lost)}).find(used)
    for at, name in enumerate(lost):
        if name not in gained and (name in again or at in named):
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
