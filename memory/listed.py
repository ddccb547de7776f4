"""All lines that a memory holds, numbered, so that a user or a model can say which of them to forget."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from memory.change.drop import is_gone
from memory.fold.fold_input import is_question, statements
from memory.line import letters_of, lines, statements_of
from memory.state import MemoryTurn, State
from text import fact, sentence
from text.clean import clean

Kind = Literal["pin", "memory", "entity", "turn"]
MOST_OF_TURN = 20
"""Most statements listed from one turn."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a memory. ``number``: from 1; ``text``: without its turn, an entity as «key: value».

    ``turn``: the turn that the line comes from, 0 where the turn is unknown or belongs to another session. ``kind``
    «turn»: a statement of a turn that is kept word for word.
    """

    number: int
    text: str
    kind: Kind
    turn: int


def listed(state: State, users: State) -> list[Line]:
    """Returns the lines of a session's memory, then further ones of its user's, then statements of the kept turns."""
    seen: dict[str, Line] = {}
    for text, kind, turn in (*_held(state, own=True), *_held(users, own=False), *_told(state)):
        if (letters := letters_of(text)) and letters not in seen:
            seen[letters] = Line(len(seen) + 1, text, kind, turn)
    return list(seen.values())


def _held(state: State, *, own: bool) -> Iterator[tuple[str, Kind, int]]:
    """Yields the lines of a memory with kind and turn; turn 0 for another session's memory (``own`` False), whose turn
    numbers have no meaning here."""
    for pin in state.pins:
        yield pin, "pin", 0
    for line in lines(state.text):
        for statement in statements_of(line):
            yield statement.text, "memory", max(0, statement.last) if own else 0
    for entity in state.entities:
        yield entity.line, "entity", entity.turn if own else 0


def _told(state: State) -> Iterator[tuple[str, Kind, int]]:
    """Yields the statements of the kept turns, without forgotten ones."""
    for turn in state.short:
        unforgotten = (line for line in _statements(turn) if not is_gone(line, turn.number, state))
        for line in [*unforgotten][:MOST_OF_TURN]:
            yield line, "turn", turn.number


def _statements(turn: MemoryTurn) -> list[str]:
    """Returns the user's statements, and the answer's sentences that contain a fact, such as a number or a date."""
    answer_lines = (line for line in sentence.split(clean(turn.answer)) if not is_question(line))
    return [*statements(turn.question), *(line for line in answer_lines if fact.facts(line))]
