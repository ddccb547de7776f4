"""Lore that stays where it was told: an entry that comes again stands with its turn from then on, where a provider's
cache keeps it, and the block that changes with every turn holds only what is new.

An entry stands from the second time on: a text in the history is paid for with every further turn, and most entries
that come once never come again. What stands is known by the entry's id and a digest of its line; the text is made anew
from the entry, so that one that was changed, switched off or removed stands no more.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from store.world.record import LoreMark
from world.lore.lorebook import Lorebook, ReadyEntry
from world.lore.score import Scored

AGAIN = 8
"""An entry comes again when it was in the prompt of one of so many turns before."""
ROOM = 3
"""What stands may take so many times the budget of the lorebook; what finds no room stays in the block that changes."""


@dataclass(frozen=True, slots=True)
class StandingEntry:
    """An entry that stands before the question of ``turn``. ``text``, ``tokens``: its line."""

    id: int
    keyword: str
    turn: int
    text: str
    tokens: int


@dataclass(frozen=True, slots=True)
class StandingLore:
    """The entries that stand, in the order in which they came; and those that stood nowhere, with the last turn whose
    prompt had them."""

    entries: tuple[StandingEntry, ...] = ()
    recent: Mapping[int, int] = field(default_factory=dict)

    @property
    def turns(self) -> dict[int, int]:
        """Returns the turn of every entry that stands, by its id."""
        return {one.id: one.turn for one in self.entries}

    @property
    def tokens(self) -> int:
        """Returns the tokens of all that stands."""
        return sum(one.tokens for one in self.entries)

    @property
    def texts(self) -> tuple[tuple[int, str], ...]:
        """Returns the lines that stand with every turn."""
        lines: dict[int, list[str]] = defaultdict(list)
        for one in self.entries:
            lines[one.turn].append(one.text)
        return tuple((turn, "\n".join(some)) for turn, some in lines.items())

    @property
    def plain(self) -> dict[str, Any]:
        """Returns what the next turn needs to know of it, as plain JSON."""
        return {
            "entries": [[one.id, one.turn, _digest_line(one.text), one.keyword] for one in self.entries],
            "recent": [[id, turn] for id, turn in self.recent.items()],
        }


def read_standing(
    report: Mapping[str, Any] | None, book: Lorebook, marks: Mapping[int, LoreMark], first: int, last: int
) -> StandingLore:
    """Returns what stands of the lore of earlier turns. ``report``: of the turn before; ``first``, ``last``: the turns
    whose words stand in the prompt, the one that is asked included: what stood with an earlier one is gone with it."""
    told = (report or {}).get("lore", {}).get("standing") or {}
    found = list[StandingEntry]()
    for id, turn, digest, _ in told.get("entries", ()):
        ready = book.entries.get(id)
        if ready is None or not first <= turn <= last or not can_stand(ready):
            continue
        text, tokens = ready.render_line(marks.get(id))
        if _digest_line(text) == digest:
            found.append(StandingEntry(id, ready.entry.keyword, turn, text, tokens))
    return StandingLore(tuple(found), dict(told.get("recent", ())))


def choose_standing(
    before: StandingLore, taken: Iterable[Scored], book: Lorebook, turn: int, room: int
) -> StandingLore:
    """Returns what stands in the prompt of a turn: what stood before, and of the entries that it takes those that come
    again and find room. ``room``: in tokens, for all that stands."""
    stood, room = before.turns, room - before.tokens
    entries = list(before.entries)
    recent = {id: last for id, last in before.recent.items() if turn - last <= AGAIN and id not in stood}
    for one in taken:
        id = one.entry.id
        if id in stood or not can_stand(book.entries[id]):
            continue
        if recent.get(id, turn) < turn and one.tokens <= room:
            room -= one.tokens
            entries.append(StandingEntry(id, one.entry.keyword, turn, one.text, one.tokens))
            recent.pop(id)
        else:
            recent[id] = turn
    return StandingLore(tuple(entries), recent)


def can_stand(ready: ReadyEntry) -> bool:
    """Returns whether an entry may stay in the prompt when nothing calls for it any more: one whose text never changes
    by itself, and whose author's rule asks for words alone, not for a moment."""
    return ready.entry.enabled and not ready.changing and (ready.rule is None or ready.rule.is_lasting)


def _digest_line(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


__all__ = ["StandingEntry", "StandingLore", "can_stand", "choose_standing", "read_standing"]
