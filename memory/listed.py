"""All lines that a memory holds, numbered: for whoever is to say which of them are to be forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from memory.drop import is_gone
from memory.line import letters_of, lines, statements_of
from memory.source import is_question, statements
from memory.state import State, Turn
from text import fact, sentence
from text.clean import clean

Kind = Literal["pin", "memory", "entity", "turn"]
MOST_OF_TURN = 20
"""Statements of one turn."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line. ``number``: from 1; ``text``: without its turn, an entity as «key: value»; ``turn``: the one it is
    from, 0 where that is not known or was in another session; ``kind`` «turn»: a statement of a kept turn."""

    number: int
    text: str
    kind: Kind
    turn: int


def listed(state: State, users: State) -> list[Line]:
    """The lines of a session's memory, then those of its user's memory that are not there, then of the kept turns."""
    seen: dict[str, Line] = {}
    for text, kind, turn in (*_held(state, own=True), *_held(users, own=False), *_told(state)):
        if (letters := letters_of(text)) and letters not in seen:
            seen[letters] = Line(len(seen) + 1, text, kind, turn)
    return list(seen.values())


def _held(state: State, *, own: bool) -> Iterator[tuple[str, Kind, int]]:
    """What a memory holds; of another one's the numbers of its turns say nothing."""
    for pin in state.pins:
        yield pin, "pin", 0
    for line in lines(state.text):
        for told in statements_of(line):
            yield told.text, "memory", told.last if own else 0
    for entity in state.entities:
        yield entity.line, "entity", entity.turn if own else 0


def _told(state: State) -> Iterator[tuple[str, Kind, int]]:
    """What was stated in the turns that are kept, without what was forgotten."""
    for turn in state.short:
        told = (line for line in _statements(turn) if not is_gone(line, turn.number, state))
        for line in [*told][:MOST_OF_TURN]:
            yield line, "turn", turn.number


def _statements(turn: Turn) -> list[str]:
    """The user's statements, and of the answer those with a value: a number that was given, a date that was named."""
    answered = (line for line in sentence.split(clean(turn.answer)) if not is_question(line))
    return [*statements(turn.question), *(line for line in answered if fact.facts(line))]
