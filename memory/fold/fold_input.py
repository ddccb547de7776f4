"""The input of a fold: the memory so far, the new turns, and the parts of those turns that may enter the memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from errors import FoldRejected
from memory.line import has_whole_value, letters_of, says_again, split_memory_lines, strip_line_turns
from memory.state import Entity, MemoryTurn
from text import sentence
from text.clean import clean_text, collapse_spaces
from text.fact import fact
from text.language import Language, detect_language

MOST_LOOKED = 200
"""Sentences of one turn that a fold looks at."""


@dataclass(frozen=True)
class FoldInput:
    """The input of a fold. ``forgotten``: texts that the user had forgotten, each with the newest turn before that.

    ``allowed_turns`` holds the parts of the turns that may enter the memory; neither a model nor code sees the rest.
    ``text`` and ``entities``: without lines of others, which a fold leaves as they are.
    """

    text: str
    entities: tuple[Entity, ...]
    turns: tuple[MemoryTurn, ...]
    pins: tuple[str, ...] = ()
    forgotten: tuple[tuple[str, int], ...] = ()
    default: Language = "ko"

    @cached_property
    def language(self) -> Language:
        """Returns the language that the user speaks."""
        return detect_language(" ".join(turn.question for turn in self.turns), self.default)

    @cached_property
    def allowed_turns(self) -> tuple[MemoryTurn, ...]:
        """Returns the turns without the sentences that the user had forgotten in the same or a later turn, and without
        answers that text of others may have led: of such a turn only the user's own words may enter the memory."""
        own = (replace(turn, answer="") if turn.foreign else turn for turn in self.turns)
        return tuple(self._without_forgotten(turn) for turn in own)

    @cached_property
    def lines(self) -> list[str]:
        """Returns the lines of the memory so far."""
        return split_memory_lines(self.text)

    @cached_property
    def user_facts(self) -> tuple[fact.Fact, ...]:
        """Returns the facts (numbers, names, dates …) in the user's statements of the new turns."""
        spoken = (
            statement for turn in self.allowed_turns for statement in split_statements(turn.question)[:MOST_LOOKED]
        )
        return fact.find_facts("\n".join(spoken))

    @cached_property
    def before(self) -> tuple[fact.Fact, ...]:
        """Returns the facts of the memory so far."""
        return fact.find_facts("\n".join(map(strip_line_turns, self.lines)))

    @property
    def newest(self) -> int:
        """Returns the number of the newest turn; without turns, of the newest turn that an entity comes from."""
        numbers = [turn.number for turn in self.turns] or [entity.turn for entity in self.entities]
        return max(numbers, default=0)

    def turn_of(self, value: str) -> int | None:
        """Returns the newest turn that tells this value as a whole, else the newest that has its letters, else None."""
        spoken = [(turn.number, f"{turn.question}\n{turn.answer}") for turn in reversed(self.allowed_turns)]
        letters = letters_of(value)
        holding = [(number, text) for number, text in spoken if letters and letters in letters_of(text)]
        return next(
            (number for number, text in holding if has_whole_value(text, value)), holding[0][0] if holding else None
        )

    def is_of_others(self, text: str) -> bool:
        """Tells whether a text holds a value that only an answer left out of ``allowed_turns`` gives; a value is a
        fact, or the whole text where it has none."""
        answers = "\n".join(turn.answer for turn in self.turns if turn.foreign)
        if not answers:
            return False
        spoken = (f"{turn.question}\n{turn.answer}" for turn in self.allowed_turns)
        known = "\n".join([*spoken, *self.lines, *(entity.line for entity in self.entities), *self.pins])
        if values := fact.find_facts(text):
            return any(
                fact.has_fact_value(answers, value) and not fact.has_fact_value(known, value) for value in values
            )
        letters = letters_of(text)
        return bool(letters) and letters in letters_of(answers) and letters not in letters_of(known)

    def is_forgotten(self, text: str) -> bool:
        """Tells whether the user had this text forgotten during or after these turns and has not said it again."""
        first = self.turns[0].number if self.turns else 0
        return any(
            number >= first and says_again(what, text) and not self._told_since(what, number)
            for what, number in self.forgotten
        )

    def _told_since(self, what: str, number: int) -> bool:
        """Tells whether the user brought the text back: in a later turn, as a pin, as an entity, or by hand."""
        later = (turn for turn in self.turns if turn.number > number)
        spoken = (line for turn in later for line in sentence.split_sentences(clean_text(turn.question)))
        remembered = (*self.pins, *self.lines, *(entity.line for entity in self.entities))
        return any(says_again(what, line) for line in (*spoken, *remembered))

    def _without_forgotten(self, turn: MemoryTurn) -> MemoryTurn:
        """Returns the turn without forgotten sentences, its answer also without the facts of those sentences."""
        forgotten = [what for what, number in self.forgotten if number >= turn.number]
        if not forgotten:
            return turn
        question, answer = (sentence.split_sentences(clean_text(part)) for part in (turn.question, turn.answer))
        remaining = [line for line in question if not any(says_again(what, line) for what in forgotten)]
        values = fact.find_facts("\n".join(line for line in question if line not in remaining))
        kept = [line for line in answer if not any(says_again(what, line) for what in forgotten)]
        kept = [line for line in kept if not any(fact.has_fact_value(line, value) for value in values)]
        if (remaining, kept) == (question, answer):
            return turn
        return replace(turn, question="\n".join(remaining), answer="\n".join(kept))

    def make_rejection(self, why: Mapping[str, Any], cost: dict[str, Any]) -> FoldRejected:
        """Returns the error that keeps the old memory. ``why``: its reason; ``cost``: the cost of the rejected fold."""
        numbers = [turn.number for turn in self.turns] or [0]
        return FoldRejected(first=numbers[0], last=numbers[-1], cost=cost, **why)


def split_statements(text: str) -> list[str]:
    """Returns the sentences of a text that do not end in a question mark."""
    return [line for line in sentence.split_sentences(clean_text(text)) if not sentence.is_question(line)]


def held_by(text: str, facts: Iterable[fact.Fact]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the facts that a text holds and the facts that it lacks, as they were written."""
    kept: list[str] = []
    lost: list[str] = []
    for one in facts:
        (kept if fact.has_fact_value(text, one) else lost).append(one.text)
    return tuple(kept), tuple(lost)


def abridge_text(text: str, most: int) -> str:
    """Returns the text in one line; of a text longer than ``most`` characters, its beginning and end."""
    text = collapse_spaces(clean_text(text))
    return text if len(text) <= most else f"{text[: most * 2 // 3]} […] {text[-most // 3 :]}"


def join_memory_text(text: str, entities: Sequence[Entity]) -> str:
    """Returns text and entities as one text, for looking values up."""
    return "\n".join([text, *(entity.line for entity in entities)])
