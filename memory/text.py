"""The text of a memory, M_i, as rows: how it is written from lines, and which lines a new text has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from memory.fold.extracted import render_memory_lines
from memory.line import (
    DatedStatement,
    find_letter_pairs,
    has_whole_value,
    letters_of,
    parse_dated_line,
    split_memory_lines,
    statements_of,
)
from memory.state import Entity, Kind, LineOrigin, MemoryLine, MemoryTurn, same_key
from text.fact import fact
from text.language import Language


class NewLine(NamedTuple):
    """A line that a text has and the rows do not; ``turn``: where it comes from, None where no turn says it."""

    kind: Kind
    text: str
    turn: MemoryTurn | None
    origin: LineOrigin
    key: str = ""


def render_text(rows: Sequence[MemoryLine], language: Language) -> str:
    """Returns the text of a memory: one sentence a line; the user's own words with their turns, short ones of
    neighbouring turns in one line."""
    return "\n".join(render_memory_lines([row.statement for row in rows], language))


def match_lines(
    text: str, rows: Sequence[MemoryLine], turns: Sequence[MemoryTurn], by_hand: bool = False
) -> list[MemoryLine | NewLine]:
    """Returns the lines of a text in order: a row where it says the same as before, else a new line with the turn that
    says most of it. ``by_hand``: the user wrote the text, so what is new is the user's."""
    known = {letters_of(row.text): row for row in rows}
    found: list[MemoryLine | NewLine] = []
    for told in _split_statements(text):
        row = known.get(letters_of(told.text))
        if row is not None and row not in found:
            found.append(row)
        elif told.first > 0:
            said = next((turn for turn in turns if turn.number == told.first), MemoryTurn(told.first, "", ""))
            found.append(NewLine("statement", told.text, said, said.asker))
        elif by_hand:
            found.append(NewLine("sentence", told.text, None, "user"))
        else:
            turn, origin = find_source(told.text, turns)
            found.append(NewLine("sentence", told.text, turn, origin))
    return found


def match_entities(
    entities: Iterable[Entity], rows: Sequence[MemoryLine], turns: Sequence[MemoryTurn]
) -> list[MemoryLine | NewLine]:
    """Returns the entities in order: a row where key and value are as before, else a new line."""
    known = {(same_key(row.key), row.text): row for row in rows}
    found: list[MemoryLine | NewLine] = []
    for entity in entities:
        row = known.get((same_key(entity.key), entity.value))
        if row is not None and row.turn == entity.turn:
            found.append(row)
            continue
        turn = next((turn for turn in turns if turn.number == entity.turn), None)
        said = turn or MemoryTurn(entity.turn, "", "")
        origin = said.asker if has_whole_value(said.question, entity.value) else "foreign" if said.foreign else "model"
        found.append(NewLine("entity", entity.value, said, origin, entity.key))
    return found


def find_source(text: str, turns: Sequence[MemoryTurn]) -> tuple[MemoryTurn | None, LineOrigin]:
    """Returns the turn that says most of a sentence, the newest of several, and who says it there: the user, or the
    assistant, whose words are foreign where the prompt held text of others. Without turns: None."""
    values, letters = fact.find_facts(text), find_letter_pairs(text)

    def share(said: str) -> float:
        held = sum(fact.has_fact_value(said, value) for value in values) / len(values) if values else 0.0
        return held + len(letters & find_letter_pairs(said)) / max(1, len(letters))

    best = max(turns, key=lambda turn: (share(f"{turn.question}\n{turn.answer}"), turn.number), default=None)
    if best is None:
        return None, "model"
    if share(best.question) >= share(best.answer):
        return best, best.asker
    return best, "foreign" if best.foreign else "model"


def _split_statements(text: str) -> list[DatedStatement]:
    """Returns the statements of a text: each of the user's own words with its turn, a sentence whole."""
    return [
        statement
        for line in split_memory_lines(text)
        for statement in (
            statements_of(line)
            if parse_dated_line(line).first > 0
            else [DatedStatement(0, 0, parse_dated_line(line).text)]
        )
    ]
