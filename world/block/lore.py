"""What a turn does to the lorebook, by code (specification 12.9): entries follow the people, things and places that
they are about, and are mentioned.
"""

from __future__ import annotations

from collections.abc import Collection

from store.world.record import HELD, LOST, LoreMark
from text.hangul import fit_particles
from text.language import Language
from world.lore.lorebook import Lorebook, ReadyEntry
from world.lore.mention import name
from world.story.state import StoryState

_FACTS: dict[str, dict[Language, str]] = {
    "dead": {"ko": "죽었다.", "en": "Dead now."},
    "here": {"ko": "지금은 {place}에 있다.", "en": "Now at {place}."},
    "lost": {"ko": "주인공은 이것을 더 이상 가지고 있지 않다.", "en": "The player no longer has it."},
    "held": {"ko": "주인공이 가지고 있다.", "en": "The player has it."},
    "status": {"ko": "지금 상태: {status}.", "en": "Now: {status}."},
}


def mark_touched_entries(
    book: Lorebook, after: StoryState, touched: Collection[str], text: str, turn: int, language: Language
) -> tuple[LoreMark, ...]:
    """Returns the entries that a turn changed. ``after``: the state after the turn; ``touched``: the names that it
    changed something about; ``text``: question and answer."""
    mentioned = book.matcher.find(text)
    about = {id: one for one in touched for id in book.names.get(name(one), ())}
    return tuple(
        _mark_lore_entry(book.entries[id], after, about.get(id), turn if id in mentioned else None, language)
        for id in sorted({*mentioned, *about})
        if id in book.entries
    )


def _mark_lore_entry(
    ready: ReadyEntry, after: StoryState, about: str | None, turn: int | None, language: Language
) -> LoreMark:
    """Returns what the story has done to an entry so far. ``about``: the name that was touched; ``turn``: the present
    one if the entry is mentioned."""
    entry = ready.entry
    old = after.lore.get(entry.id) or LoreMark(entry.id)
    last = old.last_mentioned if turn is None else turn
    if about is None:
        return LoreMark(entry.id, old.content, old.location, last)
    facts, place = _list_present_facts(about, after, entry.location, language)
    content = f"{entry.content.strip()} {' '.join(facts)}" if facts else None
    return LoreMark(entry.id, content, place if place and place != entry.location else None, last)


def _list_present_facts(about: str, after: StoryState, home: str, language: Language) -> tuple[list[str], str]:
    """Returns what is so now about a name, as sentences, and the place where it is."""
    codes: list[tuple[str, dict[str, str]]] = []
    character, item, place = after.characters.get(about), after.items.get(about), after.locations.get(about)
    there = character.location if character else ""
    if character is not None and character.dead:
        codes.append(("dead", {}))
    elif there and there != home:
        codes.append(("here", {"place": there}))
    if item is not None and item.status in (HELD, LOST):
        codes.append(("held" if item.status == HELD else "lost", {}))
    if place is not None and place.status:
        codes.append(("status", {"status": place.status}))
    sentences = [_FACTS[code][language].format(**values) for code, values in codes]
    return ([fit_particles(one) for one in sentences] if language == "ko" else sentences), there


__all__ = ["mark_touched_entries"]
