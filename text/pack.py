"""Choosing and joining notes so that length and facts both come out (context-managing.md «요약 길이 원칙», design §5).

A small model cannot count characters; code can. Notes are never cut here: they are taken or left.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from text import fact, sentence

MODEL, SOURCE = 0, 1
"""Where a note is from: written by the model, or a sentence of the original."""

_SENTENCES, _SWAPPED = 300, 40
"""Bounds that keep packing quick for very long originals: sentences looked at, notes up to which some are swapped."""

_CLAUSE = re.compile(r"(?<=[,;])\s+|(?<=[가-힣][고며서])\s+|(?<=지만|는데|니까|으면)\s+|\s+[—–]\s+")
_END = re.compile(r"[.!?。…)\]\"'”’」』》]$")


@dataclass(frozen=True, slots=True)
class Note:
    """A piece of a summary: its text, where it belongs in the original (characters), and who wrote it."""

    text: str
    position: int
    origin: int = MODEL


@dataclass(frozen=True, slots=True)
class Room:
    """Lengths in characters: what is aimed at, and what must not be passed."""

    target: int
    most: int

    @property
    def least(self) -> int:
        """Below this, more is added."""
        return int(self.target * 0.9)


def room(original: int, rate: float) -> Room:
    """The room of a summary: 1.1 × target, a clause's worth for tiny ones, never more than the original."""
    target = int(original * rate)
    return Room(target, min(original, max(int(target * 1.1), target + 12 if target <= 60 else 0)))


def pack(notes: Sequence[Note], wanted: Sequence[fact.Fact], space: Room) -> str:
    """The notes that together hold the most of the wanted facts within the room, in the order of the original.

    Notes of the model come first; sentences of the original fill in for missing facts, then for missing length.
    ``''`` when not even one note fits.
    """
    notes = _salient(notes)
    choice = _Choice(wanted, space)
    for note in _distinct(note for note in notes if note.origin == MODEL):
        choice.add(note)
    choice.shrink()
    choice.fill([note for note in notes if note not in choice.notes], facts_only=True)
    if len(choice.notes) <= _SWAPPED:
        choice.swap(notes)
    choice.fill(notes, facts_only=False)
    return choice.text


def clauses(text: str) -> list[str]:
    """The sentences of a text, and of each long one its clauses too, as candidates for notes."""
    found: list[str] = []
    for piece in sentence.split(text):
        found.append(piece)
        if len(piece) > 40:
            found += [part.strip(" ,;") for part in _CLAUSE.split(piece) if 12 <= len(part.strip(" ,;")) < len(piece)]
    return list(dict.fromkeys(found))


def shorten(text: str, most: int) -> str:
    """The text cut back to the end of a sentence, a clause or else a word, within ``most`` characters; or ''."""
    if len(text) <= most:
        return text
    head = text[: most + 1]
    for mark in (r"[.!?。…](?=\s)", r"[,;](?=\s)", r"\s"):
        ends = [
            match.start() if mark == r"\s" or mark.startswith("[,") else match.end()
            for match in re.finditer(mark, head)
        ]
        if ends and (mark == r"\s" or ends[-1] >= most // 2):
            return head[: ends[-1]].rstrip(" ,;")
    return ""


def place(text: str, sentences: Sequence[Note]) -> int:
    """Where in the original a text belongs: the position of the sentence that it shares the most letter pairs with."""
    pairs = _pairs(text)
    best = max(sentences, key=lambda each: len(pairs & _pairs(each.text)), default=None)
    return best.position if best else 0


def join(notes: Iterable[str]) -> str:
    """Notes as running text: each ends in a full stop."""
    return " ".join(note if _END.search(note) else f"{note}." for note in notes)


class _Choice:
    """The notes chosen so far, against the wanted facts and the room."""

    def __init__(self, wanted: Sequence[fact.Fact], space: Room) -> None:
        self.notes: list[Note] = []
        self._wanted, self._space = wanted, space
        self._held: dict[Note, frozenset[int]] = {}

    @property
    def text(self) -> str:
        return join(note.text for note in sorted(self.notes, key=lambda each: each.position))

    def add(self, note: Note) -> None:
        self.notes.append(note)

    def held(self, note: Note) -> frozenset[int]:
        """Indexes of the wanted facts that a note holds."""
        if note not in self._held:
            self._held[note] = frozenset(
                index for index, each in enumerate(self._wanted) if fact.holds(note.text, each)
            )
        return self._held[note]

    def missing(self) -> frozenset[int]:
        """Indexes of the wanted facts that no chosen note holds."""
        return frozenset(range(len(self._wanted))).difference(*(self.held(note) for note in self.notes))

    def shrink(self) -> None:
        """Drop the note that is worth least for its length until the rest fits."""
        while self.notes and len(self.text) > self._space.most:
            self.notes.remove(min(self.notes, key=self._worth))

    def fill(self, notes: Sequence[Note], *, facts_only: bool) -> None:
        """Add what brings the most missing facts for its length; without ``facts_only`` also what merely fits."""
        while best := self._best(notes, facts_only):
            self.add(best)

    def swap(self, notes: Sequence[Note]) -> None:
        """Give up notes that alone hold nothing wanted, one at a time, where that lets more facts in."""
        for note in sorted(self.notes, key=self._worth)[: max(0, len(self.notes) - 1)]:
            before, missing = list(self.notes), len(self.missing())
            self.notes.remove(note)
            self.fill(notes, facts_only=True)
            if len(self.missing()) >= missing:
                self.notes = before

    def _worth(self, note: Note) -> tuple[float, float]:
        """Facts that no other chosen note holds, for the length; then what is new beside the others."""
        others = [each for each in self.notes if each is not note]
        alone = self.held(note).difference(*(self.held(each) for each in others))
        new = 1 - _shared(note.text, join(each.text for each in others))
        return len(alone) / (len(note.text) + 1), new * len(note.text)

    def _best(self, notes: Sequence[Note], facts_only: bool) -> Note | None:
        missing, free = self.missing(), self._space.most - len(self.text)
        if not facts_only and len(self.text) >= self._space.least:
            return None
        fitting = [note for note in notes if len(note.text) + 2 <= free and not self._repeats(note)]
        if facts_only:
            fitting = [note for note in fitting if self.held(note) & missing]
        gains = {note: self._gain(note, missing) for note in fitting}
        return max(fitting, key=lambda note: gains[note], default=None)

    def _gain(self, note: Note, missing: frozenset[int]) -> tuple[float, float, int]:
        """Missing facts for the length, notes of the model before sentences; then what says most that is new."""
        gain = len(self.held(note) & missing) / (len(note.text) + 8)
        new = 1 - _shared(note.text, self.text)
        return gain * (1.3 if note.origin == MODEL else 1.0), round(new, 1) - note.origin, len(note.text)

    def _repeats(self, note: Note) -> bool:
        return any(alike(note.text, each.text) for each in self.notes)


def _salient(notes: Sequence[Note]) -> list[Note]:
    """All notes of the model, and of too many sentences those with the most facts for their length."""
    written = [note for note in notes if note.origin == MODEL]
    source = [note for note in notes if note.origin == SOURCE]
    if len(source) > _SENTENCES:
        source = sorted(source, key=lambda note: -len(fact.facts(note.text)) / (len(note.text) + 8))[:_SENTENCES]
    return written + source


def alike(one: str, other: str) -> bool:
    """Whether the shorter of two texts is mostly in the other."""
    short, long = sorted((one, other), key=len)
    return _shared(short, long) > 0.75


def _shared(text: str, other: str) -> float:
    """The share of a text's letter pairs that another has too; 1 for a text without any."""
    pairs = _pairs(text)
    return len(pairs & _pairs(other)) / len(pairs) if pairs else 1.0


@lru_cache(maxsize=8192)
def _pairs(text: str) -> frozenset[str]:
    letters = re.sub(r"\W+", "", text.casefold())
    return frozenset(letters[at : at + 2] for at in range(len(letters) - 1))


def _distinct(notes: Iterable[Note]) -> list[Note]:
    kept: list[Note] = []
    for note in notes:
        if not any(alike(note.text, each.text) for each in kept):
            kept.append(note)
    return kept
