"""Choosing and joining notes so that length and facts both come out (context-managing.md «요약 길이 원칙», design §5).

A small model cannot count characters; code can. Notes are never cut here: they are taken or left.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from text import fact
from text.note import Note, alike, join, shared

_SENTENCES, _SWAPPED = 300, 40
"""Bounds that keep packing quick for very long originals: sentences looked at, notes up to which some are swapped."""
SHORT, _LINE = 250, 80
"""Characters of three turns of a line each, and what their facts may take in a summary."""
_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Wanted:
    """A fact that the summary should hold, and how much it matters beside the others."""

    fact: fact.Fact
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Room:
    """Lengths in characters: what is aimed at, what must not be passed, and what facts that are still lost may take.
    ``short``: the original is, so that its own sentences say a fact in fewer words than a note about them."""

    target: int
    most: int
    full: int
    short: bool = False

    @property
    def least(self) -> int:
        """Below this, more is added."""
        return int(self.target * 0.9)


def room(original: int, rate: float, new: int | None = None) -> Room:
    """The room of a summary: 1.1 × target (1.25 × for facts), a clause for tiny ones, at most the original. Short turns
    have little to leave out: there facts may take 2.5 × the target, up to ``_LINE`` characters. ``new``: characters of
    the original that do not only repeat others of it; all when it is not given."""
    target, short = int(original * rate), (original if new is None else new) <= SHORT
    tiny = target + 12 if target <= 60 else 0
    facts = max(tiny, min(_LINE, int(target * 2.5))) if short and tiny else tiny
    return Room(
        target, min(original, max(int(target * 1.1), tiny)), min(original, max(int(target * 1.25), facts)), short
    )


def pack(notes: Sequence[Note], wanted: Sequence[Wanted], space: Room) -> str:
    """The notes that together hold the most of the wanted facts within the room, in the order of the original.

    First what holds missing facts, then what is new, up to the length. ``''`` when not even one note fits.
    """
    choice = _Choice(wanted, space)
    candidates = _salient(notes)
    choice.fill(candidates, space.full if space.short else space.most)
    if len(choice.notes) <= _SWAPPED:
        choice.swap(candidates)
    choice.prune()
    choice.fill(candidates, space.full)
    choice.lengthen(candidates)
    return choice.text


class _Choice:
    """The notes chosen so far, against the wanted facts and the room."""

    def __init__(self, wanted: Sequence[Wanted], space: Room) -> None:
        self.notes: list[Note] = []
        self._wanted, self._space = wanted, space
        self._held: dict[Note, frozenset[int]] = {}

    @property
    def text(self) -> str:
        return join(sorted(self.notes, key=lambda each: each.position))

    def fill(self, candidates: Sequence[Note], most: int) -> None:
        """Add what brings the most missing facts for its length, up to ``most`` characters."""
        left = list(candidates)
        while missing := self._missing():
            left = [note for note in left if self._facts(note) & missing and self._fits(note, most)]
            if not left:
                return
            self._add_best(left, most)

    def lengthen(self, candidates: Sequence[Note]) -> None:
        """Add what is new and fits, until the summary is about as long as it is meant to be."""
        left, most = list(candidates), self._space.most
        while len(self.text) < self._space.least:
            left = [note for note in left if self._fits(note, most) and not self._repeats(note)]
            if not left:
                return
            self._add_best(left, most)

    def _add_best(self, left: list[Note], most: int) -> None:
        """Move the best of these notes to the chosen ones, or drop it if another speaker's label is one too many."""
        missing, text = self._missing(), self.text
        best = max(left, key=lambda note: self._gain(note, missing, text))
        left.remove(best)
        self.notes.append(best)
        if len(self.text) > most:
            self.notes.remove(best)

    def _fits(self, note: Note, most: int) -> bool:
        return len(self.text) + len(note.text) + 2 <= most

    def swap(self, candidates: Sequence[Note]) -> None:
        """Exchange notes that hold little for ones with missing facts of more weight, while that gains anything."""
        for _ in range(_ROUNDS):
            before = self._weigh(self._missing())
            for note in candidates:
                if self._facts(note) & self._missing():
                    self._force(note, candidates)
            if self._weigh(self._missing()) >= before:
                return

    def _force(self, note: Note, candidates: Sequence[Note]) -> None:
        """Put a note in at the cost of those worth least; undone when the whole does not gain."""
        before, missing = list(self.notes), self._weigh(self._missing())
        held = self._facts(note)
        self.notes = [each for each in self.notes if not (self._facts(each) and self._facts(each) <= held)] + [note]
        while len(self.text) > self._space.most and len(self.notes) > 1:
            self.notes.remove(min((each for each in self.notes if each is not note), key=self._worth))
        self.fill(candidates, self._space.most)
        if len(self.text) > self._space.most or self._weigh(self._missing()) > missing - 0.25:
            self.notes = before

    def prune(self) -> None:
        """Drop what a longer chosen note says too."""
        for note in sorted(self.notes, key=lambda each: len(each.text)):
            others = [each for each in self.notes if each is not note and len(each.text) >= len(note.text)]
            if any(alike(note.text, each.text) and self._facts(note) <= self._facts(each) for each in others):
                self.notes.remove(note)

    def _facts(self, note: Note) -> frozenset[int]:
        """Indexes of the wanted facts that a note holds."""
        if note not in self._held:
            held = (index for index, each in enumerate(self._wanted) if fact.holds(note.text, each.fact))
            self._held[note] = frozenset(held)
        return self._held[note]

    def _missing(self) -> frozenset[int]:
        """Indexes of the wanted facts that no chosen note holds."""
        return frozenset(range(len(self._wanted))).difference(*(self._facts(note) for note in self.notes))

    def _weigh(self, indexes: Iterable[int]) -> float:
        return sum(self._wanted[index].weight for index in indexes)

    def _worth(self, note: Note) -> tuple[float, float]:
        """Facts that no other chosen note holds, for the length; then what is new beside the others."""
        others = [each for each in self.notes if each is not note]
        alone = self._facts(note).difference(*(self._facts(each) for each in others))
        new = 1 - shared(note.text, join(others))
        return self._weigh(alone) / (len(note.text) + 1), new * len(note.text)

    def _repeats(self, note: Note) -> bool:
        """Whether a chosen note says the same: two rows of a list look alike and hold other facts."""
        return any(alike(note.text, each.text) and self._facts(note) <= self._facts(each) for each in self.notes)

    def _gain(self, note: Note, missing: frozenset[int], text: str) -> tuple[float, float, int]:
        """Missing facts for the length; then what says most that is new."""
        gain = self._weigh(self._facts(note) & missing) / (len(note.text) + 8)
        return gain, round(1 - shared(note.text, text), 1), len(note.text)


def _salient(notes: Sequence[Note]) -> list[Note]:
    """All notes, and of too many those with the most facts for their length."""
    if len(notes) <= _SENTENCES:
        return list(notes)
    return sorted(notes, key=lambda note: -len(fact.facts(note.text)) / (len(note.text) + 8))[:_SENTENCES]
