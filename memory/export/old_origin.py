"""Whose words the lines of an earlier release's memory are: it did not write that down, and the record tells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlalchemy import Connection, select

from memory.line import has_whole_value, letters_of
from memory.row.rows import Head, read_memory_turns
from memory.state import LineOrigin, MemoryTurn, same_key
from store.database import memory_table as table
from text.fact import fact

if TYPE_CHECKING:
    from memory.export.portable import ImportedLine, ImportedText


def mark_lines_of_others(
    connection: Connection, head: Head, lines: Sequence[ImportedLine], versions: Sequence[ImportedText]
) -> list[ImportedLine]:
    """Returns the lines of an old memory, those marked as foreign that may say what others wrote: in a conversation
    that holds text of others, all that its folds wrote from then on and the user did not say."""
    if not head.scope.session:
        return _mark_facts(connection, head, lines)
    turns = read_memory_turns(connection, head, 1)
    first = min((turn.number for turn in turns if turn.foreign), default=None)
    if first is None:
        return [*lines]
    own = [turn for turn in turns if not turn.imported]
    before = {each for version in versions if version.folded < first for each in (*version.lines, *version.entities)}
    return [
        line if line.id in before else replace(line, origin=origin)
        for line in lines
        for origin in (_find_origin(line, own, first),)
    ]


def _find_origin(line: ImportedLine, own: Sequence[MemoryTurn], first: int) -> LineOrigin:
    """Returns whose words a line is. ``own``: the turns whose questions are the user's; ``first``: the first turn whose
    prompt held text of others."""
    if line.kind == "sentence":
        is_own = any(_tells_sentence(turn.question, line.text) for turn in own)
    elif line.kind == "entity":
        is_own = 0 < line.turn < first or any(has_whole_value(turn.question, line.text) for turn in own)
    elif line.kind == "statement":
        is_own = any(turn.number == line.turn for turn in own)
    else:
        is_own = True  # a pin or what was forgotten: the user did that
    return "user" if is_own else "foreign"


def _tells_sentence(question: str, sentence: str) -> bool:
    """Returns whether a question says a sentence of a memory: word for word, or all values of it."""
    values = fact.find_facts(sentence)
    is_whole = letters_of(sentence) in letters_of(question)
    return is_whole or (bool(values) and all(fact.has_fact_value(question, value) for value in values))


def _mark_facts(connection: Connection, head: Head, lines: Sequence[ImportedLine]) -> list[ImportedLine]:
    """Returns the lines of a user's own memory, which has facts out of the conversations: those marked that a
    conversation has from others. Conversations become rows first."""
    line = table.line.c
    query = select(line.key, line.text).where(
        line.tenant == head.scope.tenant, line.user == head.user, line.kind == "entity", line.origin == "foreign"
    )
    foreign = {(same_key(row.key), row.text) for row in connection.execute(query)}
    return [replace(each, origin="foreign") if (same_key(each.key), each.text) in foreign else each for each in lines]
