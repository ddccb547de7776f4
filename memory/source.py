"""What a fold is made from: the memory so far, the new turns, and what of them may come in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from errors import FoldRejected
from memory.line import bare, letters_of, lines, says_again, tells
from memory.state import Entity, Turn
from text import fact, sentence
from text.clean import clean
from text.language import Language, detect

MOST_LOOKED = 200
"""Sentences of one turn that are looked at."""


@dataclass(frozen=True)
class Source:
    """What a fold is made from. ``forgotten``: as in ``State``.

    ``told`` is what of the turns may come in: neither a model nor code sees the rest.
    """

    text: str
    entities: tuple[Entity, ...]
    turns: tuple[Turn, ...]
    pins: tuple[str, ...] = ()
    forgotten: tuple[tuple[str, int], ...] = ()
    default: Language = "ko"

    @cached_property
    def language(self) -> Language:
        """The language that the user speaks."""
        return detect(" ".join(turn.question for turn in self.turns), self.default)

    @cached_property
    def told(self) -> tuple[Turn, ...]:
        """The turns without what the user had forgotten in or after each of them."""
        return tuple(self._without_forgotten(turn) for turn in self.turns)

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the memory so far."""
        return lines(self.text)

    @cached_property
    def wanted(self) -> tuple[fact.Fact, ...]:
        """Numbers, names, dates … of what the user said in the new turns."""
        spoken = (statement for turn in self.told for statement in statements(turn.question)[:MOST_LOOKED])
        return fact.facts("\n".join(spoken))

    @cached_property
    def before(self) -> tuple[fact.Fact, ...]:
        """What the memory so far holds."""
        return fact.facts("\n".join(map(bare, self.lines)))

    @property
    def newest(self) -> int:
        """The newest turn that this is made from, else the newest that a value is from."""
        numbers = [turn.number for turn in self.turns] or [entity.turn for entity in self.entities]
        return max(numbers, default=0)

    def turn_of(self, value: str) -> int | None:
        """The newest turn that tells this value, else the newest that holds it however spaced."""
        spoken = [(turn.number, f"{turn.question}\n{turn.answer}") for turn in reversed(self.told)]
        wanted = letters_of(value)
        holding = [(number, text) for number, text in spoken if wanted and wanted in letters_of(text)]
        return next((number for number, text in holding if tells(text, value)), holding[0][0] if holding else None)

    def is_forgotten(self, text: str) -> bool:
        """Whether the user had this forgotten in or after the first of these turns and has not said it again since."""
        first = self.turns[0].number if self.turns else 0
        return any(
            number >= first and says_again(what, text) and not self._told_since(what, number)
            for what, number in self.forgotten
        )

    def _told_since(self, what: str, number: int) -> bool:
        """Also by hand: what the memory holds of it now was pinned, written or set since it was forgotten."""
        later = (turn for turn in self.turns if turn.number > number)
        spoken = (line for turn in later for line in sentence.split(clean(turn.question)))
        held = (*self.pins, *self.lines, *(entity.line for entity in self.entities))
        return any(says_again(what, line) for line in (*spoken, *held))

    def _without_forgotten(self, turn: Turn) -> Turn:
        """The turn without what is forgotten, and its answer without the values that the user gave there."""
        gone = [what for what, number in self.forgotten if number >= turn.number]
        if not gone:
            return turn
        asked, answered = (sentence.split(clean(part)) for part in (turn.question, turn.answer))
        left = [line for line in asked if not any(says_again(what, line) for what in gone)]
        values = fact.facts("\n".join(line for line in asked if line not in left))
        kept = [line for line in answered if not any(says_again(what, line) for what in gone)]
        kept = [line for line in kept if not any(fact.holds(line, value) for value in values)]
        if (left, kept) == (asked, answered):
            return turn
        return replace(turn, question="\n".join(left), answer="\n".join(kept))

    def rejected(self, why: Mapping[str, Any], cost: dict[str, Any]) -> FoldRejected:
        """The error that keeps the old memory; ``why``: its reason; ``cost``: what the try took."""
        numbers = [turn.number for turn in self.turns] or [0]
        return FoldRejected(first=numbers[0], last=numbers[-1], cost=cost, **why)


def statements(text: str) -> list[str]:
    """The sentences of what somebody said that do not end in a question mark."""
    return [line for line in sentence.split(clean(text)) if not is_question(line)]


def is_question(line: str) -> bool:
    """Whether a sentence ends in a question mark: what has none may be a question, too, and is taken as it is."""
    return line.rstrip("\"'”’)]」』 ").endswith(("?", "？"))


def held_by(text: str, facts: Iterable[fact.Fact]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Facts that a text holds and those that it lacks, as they were written."""
    kept: list[str] = []
    lost: list[str] = []
    for one in facts:
        (kept if fact.holds(text, one) else lost).append(one.text)
    return tuple(kept), tuple(lost)


def abridged(text: str, most: int) -> str:
    """Head and tail of a text that is longer than ``most`` characters."""
    text = " ".join(clean(text).split())
    return text if len(text) <= most else f"{text[: most * 2 // 3]} […] {text[-most // 3 :]}"


def whole(text: str, entities: Sequence[Entity]) -> str:
    """Text and entities as one, to look values up in."""
    return "\n".join([text, *(entity.line for entity in entities)])
