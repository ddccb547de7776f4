"""Choice and joining of notes, so that a summary meets its length and holds the facts (specification 3.2, design 5.2).

A small model cannot count characters; code can. This module never cuts notes; it takes or leaves them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from text.fact import fact
from text.fact.note import SummaryNote, is_similar_note, join_notes, measure_shared_pairs

_SENTENCES, _SWAPPED = 300, 40
"""Bounds that keep packing quick for very long originals: how many sentences are considered, and up to how many chosen
notes some are swapped.
"""
SHORT, _LINE = 250, 80
"""Characters: the length of three turns of one line each, and the length that their facts may take in a summary."""
_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class WantedFact:
    """A fact that the summary should hold, and its weight beside the other facts."""

    fact: fact.Fact
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class TextRoom:
    """Lengths of a summary in characters: ``target`` is the aim, ``most`` the limit, ``full`` the limit for facts that
    are still missing. ``short``: the original is short, so that its own sentences say a fact in fewer words than a note
    about them.
    """

    target: int
    most: int
    full: int
    short: bool = False

    @property
    def least(self) -> int:
        """Returns the length below which more notes are added."""
        return int(self.target * 0.9)


def compute_text_room(original: int, rate: float, new: int | None = None) -> TextRoom:
    """Returns the room of a summary. The limits are 1.1 × target (1.25 × for facts), a clause more for tiny targets,
    and never more than the original.

    Short turns have little to leave out, so their facts may take 2.5 × the target, up to ``_LINE`` characters. ``new``:
    characters of the original that do not only repeat other parts of it; by default all.
    """
    target, short = int(original * rate), (original if new is None else new) <= SHORT
    tiny = target + 12 if target <= 60 else 0
    facts = max(tiny, min(_LINE, int(target * 2.5))) if short and tiny else tiny
    return TextRoom(
        target, min(original, max(int(target * 1.1), tiny)), min(original, max(int(target * 1.25), facts)), short
    )


def pack_notes(notes: Sequence[SummaryNote], wanted: Sequence[WantedFact], space: TextRoom) -> str:
    """Returns the text of the notes that together hold the most wanted facts within the room, in the order of the
    original.

    Takes notes with missing facts first, then notes with new content, up to the length. Returns ``''`` when no note
    fits.
    """
    choice = _Choice(wanted, space)
    candidates = _choose_salient_notes(notes)
    choice.fill(candidates, space.full if space.short else space.most)
    if len(choice.notes) <= _SWAPPED:
        choice.swap(candidates)
    choice.prune()
    choice.fill(candidates, space.full)
    choice.lengthen(candidates)
    return choice.text


class _Choice:
    """The notes chosen so far, compared with the wanted facts and the room."""

    def __init__(self, wanted: Sequence[WantedFact], space: TextRoom) -> None:
        self.notes: list[SummaryNote] = []
        self._wanted, self._space = wanted, space
        self._held: dict[SummaryNote, frozenset[int]] = {}

    @property
    def text(self) -> str:
        return join_notes(sorted(self.notes, key=lambda note: note.position))

    def fill(self, candidates: Sequence[SummaryNote], most: int) -> None:
        """Adds the notes with the most missing facts for their length, up to ``most`` characters of text."""
        left = list(candidates)
        while missing := self._missing():
            left = [note for note in left if self._facts(note) & missing and self._fits(note, most)]
            if not left:
                return
            self._add_best(left, most)

    def lengthen(self, candidates: Sequence[SummaryNote]) -> None:
        """Adds notes with new content that fit, until the summary has nearly its target length."""
        left, most = list(candidates), self._space.most
        while len(self.text) < self._space.least:
            left = [note for note in left if self._fits(note, most) and not self._repeats(note)]
            if not left:
                return
            self._add_best(left, most)

    def _add_best(self, left: list[SummaryNote], most: int) -> None:
        """Moves the best of these notes to the chosen notes. Drops it when the label of its speaker makes the text too
        long.
        """
        missing, text = self._missing(), self.text
        best = max(left, key=lambda note: self._gain(note, missing, text))
        left.remove(best)
        self.notes.append(best)
        if len(self.text) > most:
            self.notes.remove(best)

    def _fits(self, note: SummaryNote, most: int) -> bool:
        return len(self.text) + len(note.text) + 2 <= most

    def swap(self, candidates: Sequence[SummaryNote]) -> None:
        """Exchanges notes that hold little for notes with missing facts of more weight, while a round gains weight."""
        for _ in range(_ROUNDS):
            before = self._weigh(self._missing())
            for note in candidates:
                if self._facts(note) & self._missing():
                    self._force(note, candidates)
            if self._weigh(self._missing()) >= before:
                return

    def _force(self, note: SummaryNote, candidates: Sequence[SummaryNote]) -> None:
        """Adds a note in place of the notes worth least; undoes the exchange when the whole does not gain."""
        before, missing = list(self.notes), self._weigh(self._missing())
        facts = self._facts(note)
        self.notes = [old for old in self.notes if not (self._facts(old) and self._facts(old) <= facts)] + [note]
        while len(self.text) > self._space.most and len(self.notes) > 1:
            self.notes.remove(min((old for old in self.notes if old is not note), key=self._worth))
        self.fill(candidates, self._space.most)
        if len(self.text) > self._space.most or self._weigh(self._missing()) > missing - 0.25:
            self.notes = before

    def prune(self) -> None:
        """Drops the notes that a longer chosen note repeats."""
        for note in sorted(self.notes, key=lambda chosen: len(chosen.text)):
            others = [chosen for chosen in self.notes if chosen is not note and len(chosen.text) >= len(note.text)]
            if any(
                is_similar_note(note.text, chosen.text) and self._facts(note) <= self._facts(chosen)
                for chosen in others
            ):
                self.notes.remove(note)

    def _facts(self, note: SummaryNote) -> frozenset[int]:
        """Returns the indexes of the wanted facts that a note holds."""
        if note not in self._held:
            indexes = (
                index for index, wanted in enumerate(self._wanted) if fact.has_fact_value(note.text, wanted.fact)
            )
            self._held[note] = frozenset(indexes)
        return self._held[note]

    def _missing(self) -> frozenset[int]:
        """Returns the indexes of the wanted facts that no chosen note holds."""
        return frozenset(range(len(self._wanted))).difference(*(self._facts(note) for note in self.notes))

    def _weigh(self, indexes: Iterable[int]) -> float:
        return sum(self._wanted[index].weight for index in indexes)

    def _worth(self, note: SummaryNote) -> tuple[float, float]:
        """Returns the weight of the facts that no other chosen note holds, by length; then the new content beside the
        other notes.
        """
        others = [other for other in self.notes if other is not note]
        alone = self._facts(note).difference(*(self._facts(other) for other in others))
        new = 1 - measure_shared_pairs(note.text, join_notes(others))
        return self._weigh(alone) / (len(note.text) + 1), note.weight * new * len(note.text)

    def _repeats(self, note: SummaryNote) -> bool:
        """Returns whether a chosen note says the same. Two rows of a list look alike but hold other facts, so their
        facts are compared too.
        """
        return any(
            is_similar_note(note.text, chosen.text) and self._facts(note) <= self._facts(chosen)
            for chosen in self.notes
        )

    def _gain(self, note: SummaryNote, missing: frozenset[int], text: str) -> tuple[float, float, int]:
        """Returns the weight of the missing facts by length, then that of the new content, then the length."""
        gain = self._weigh(self._facts(note) & missing) / (len(note.text) + 8)
        return gain, round(note.weight * (1 - measure_shared_pairs(note.text, text)), 1), len(note.text)


def _choose_salient_notes(notes: Sequence[SummaryNote]) -> list[SummaryNote]:
    """Returns all notes; of too many notes, those with the most facts for their length."""
    if len(notes) <= _SENTENCES:
        return list(notes)
    return sorted(notes, key=lambda note: -len(fact.find_facts(note.text)) / (len(note.text) + 8))[:_SENTENCES]
