"""All lines that a memory holds, numbered, so that a user or a model can say which of them to forget."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from memory.fold.fold_input import split_statements
from memory.line import letters_of, says_again
from memory.row.profile import ProfileLine
from memory.state import MemoryLine, MemoryState, MemoryTurn
from text import sentence
from text.clean import clean_text
from text.fact import fact
from text.sentence import is_question

Listing = Literal["profile", "memory", "entity", "turn"]
MOST_OF_TURN = 20
"""Most statements listed from one turn."""


@dataclass(frozen=True, slots=True)
class NumberedLine:
    """One line of a memory. ``number``: from 1; ``text``: without its turn, with its key where it has one.

    ``turn``: the turn that the line comes from, 0 where the turn is unknown or belongs to another session. ``kind``
    «turn»: a statement of a turn that is kept word for word.
    """

    number: int
    text: str
    kind: Listing
    turn: int


def list_lines(
    state: MemoryState, profile: Sequence[ProfileLine], forgotten: Sequence[MemoryLine], session: str
) -> list[NumberedLine]:
    """Returns the lines of the profile, then those of a session's memory, then statements of the last turns."""
    seen: dict[str, NumberedLine] = {}
    for text, kind, turn in (*_iter_memory(state, profile, session), *_iter_turns(state, forgotten)):
        if (letters := letters_of(text)) and letters not in seen:
            seen[letters] = NumberedLine(len(seen) + 1, text, kind, turn)
    return list(seen.values())


def is_forgotten(line: str, at: float, forgotten: Sequence[MemoryLine]) -> bool:
    """Tells whether the user had this line forgotten after it was said. ``at``: Unix seconds."""
    return any(each.at >= at and says_again(each.text, line) for each in forgotten)


def _iter_memory(
    state: MemoryState, profile: Sequence[ProfileLine], session: str
) -> Iterator[tuple[str, Listing, int]]:
    for line in profile:
        yield line.row.label, "profile", line.row.turn if line.row.session == session else 0
    for row in state.lines:
        yield row.text, "memory", row.turn
    for row in state.entities:
        yield row.label, "entity", row.turn


def _iter_turns(state: MemoryState, forgotten: Sequence[MemoryLine]) -> Iterator[tuple[str, Listing, int]]:
    """Yields the statements of the kept turns, without forgotten ones."""
    for turn in state.short:
        unforgotten = (line for line in _split_turn(turn) if not is_forgotten(line, turn.at, forgotten))
        for line in [*unforgotten][:MOST_OF_TURN]:
            yield line, "turn", turn.number


def _split_turn(turn: MemoryTurn) -> list[str]:
    """Returns the user's statements, and the answer's sentences that contain a fact, such as a number or a date."""
    answer_lines = (line for line in sentence.split_sentences(clean_text(turn.answer)) if not is_question(line))
    return [*split_statements(turn.question), *(line for line in answer_lines if fact.find_facts(line))]
