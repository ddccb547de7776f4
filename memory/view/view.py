"""The part of a memory that a prompt gets: within token budgets, cut by rule (specification 6.7, design 4.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from memory.fold import extracted
from memory.fold.fold_input import FoldInput
from memory.line import (
    DatedStatement,
    has_whole_value,
    is_same_line,
    letters_of,
    render_dated_line,
    split_memory_lines,
    statements_of,
    strip_line_turns,
)
from memory.row.profile import ProfileLine
from memory.state import Entity, MemoryLine, MemoryState, MemoryTurn, Rejection
from memory.text import render_text
from text.language import Language

Count = Callable[[str], int]
MOST_LOOKED, SAID_CHARS = 10, 2000
"""Limits for waiting turns shown as lines: how many turns, and how many characters of their questions."""


class Rooms(NamedTuple):
    """The token budgets of a prompt's parts from memory."""

    memory: int
    entities: int
    profile: int


@dataclass(frozen=True, slots=True)
class MemoryView:
    """A memory as prompts and the panel show it.

    ``text``: the session's memory within its budget, one sentence per line, oldest first; ``entities``: its entities
    within their budget, oldest first, each with the value before it where that has room; ``entity_text``: these
    entities for a prompt: ``provider: aws, budget: $10,000`` (specification 6.7); ``profile``: the lines of the user's
    profile within its budget, pins first, then the newest; ``profile_text``: these lines for a prompt, each with its
    day. ``tokens``, ``entity_tokens``, ``profile_tokens``: the tokens of each; ``cut``, ``cut_entities``,
    ``cut_profile``: what was left out; ``covered_profile``: lines of the profile that the text says anyway.
    ``waiting``: numbers of the turns that the memory has not taken in yet; ``waiting_lines``: the lines that these
    turns become if code folds them, each with its turn, within the tokens that ``text`` leaves free; for a prompt that
    no longer holds these turns themselves. ``away``: the database cannot be read now; all other fields are empty then.
    ``whole``: the text without the budget; ``version_id``: tells this version from one of the same number that was
    undone; ``rows``: its lines with where each comes from; ``pins``: the pinned statements. ``expires``: seconds
    without use until the copy leaves Redis; 0: never. ``apart``: the session is kept apart. ``foreign``: some of it may
    be text of others.
    """

    text: str = ""
    entities: tuple[Entity, ...] = ()
    entity_text: str = ""
    profile: tuple[ProfileLine, ...] = ()
    profile_text: str = ""
    version: int = 0
    version_id: int = 0
    away: bool = False
    tokens: int = 0
    entity_tokens: int = 0
    profile_tokens: int = 0
    cut: tuple[str, ...] = ()
    cut_entities: tuple[Entity, ...] = ()
    cut_profile: tuple[ProfileLine, ...] = ()
    covered_profile: tuple[ProfileLine, ...] = ()
    whole: str = ""
    rows: tuple[MemoryLine, ...] = ()
    pins: tuple[str, ...] = ()
    waiting: tuple[int, ...] = ()
    waiting_lines: tuple[tuple[int, str], ...] = ()
    short: tuple[MemoryTurn, ...] = ()
    rejection: Rejection | None = None
    updated: float = 0.0
    expires: float = 0.0
    apart: bool = False
    foreign: bool = False


def make_view(
    state: MemoryState,
    profile: Sequence[ProfileLine],
    forgotten: Sequence[tuple[str, int]],
    count: Count,
    rooms: Rooms,
    expires: float,
    language: Language = "ko",
) -> MemoryView:
    """Returns the view of a session. ``forgotten``: texts that the user had forgotten, each with the newest turn before
    that."""
    text = render_text(state.lines, state.language)
    kept_lines, cut = _fit_lines(split_memory_lines(text), count, rooms.memory)
    old_values = {old.entity: old for old in state.old_values}
    entities = [replace(row.entity, old=old_values.get(row.id)) for row in state.entities]
    kept_entities, cut_entities = _fit_entities(entities, kept_lines, language, count, rooms.entities)
    said = [letters_of(strip_line_turns(line)) for line in kept_lines]
    covered = tuple(line for line in profile if any(letters_of(line.row.label) in text for text in said))
    others = [line for line in profile if line not in covered]
    kept_profile, cut_profile = _fit_profile(others, language, count, rooms.profile)
    return MemoryView(
        text="\n".join(kept_lines),
        entities=kept_entities,
        entity_text=entity_line(kept_entities, language),
        profile=kept_profile,
        profile_text=profile_text(kept_profile, language),
        version=state.version,
        version_id=state.version_id,
        tokens=count("\n".join(kept_lines)),
        entity_tokens=count(entity_line(kept_entities, language)),
        profile_tokens=count(profile_text(kept_profile, language)),
        cut=cut,
        cut_entities=cut_entities,
        cut_profile=cut_profile,
        covered_profile=covered,
        whole=text,
        rows=state.lines,
        pins=tuple(line.row.label for line in profile if line.row.pinned),
        waiting=tuple(turn.number for turn in state.waiting),
        waiting_lines=_extract_waiting(state, forgotten, kept_lines, count, rooms.memory, language),
        short=state.short,
        rejection=state.rejection,
        updated=state.updated,
        expires=expires,
        apart=state.apart,
        foreign=any(row.is_foreign for row in (*state.lines, *state.entities, *(line.row for line in profile))),
    )


def entity_line(entities: Sequence[Entity], language: Language) -> str:
    """Returns keys and values in one line, each with the value before it."""
    return ", ".join(entity.describe(language) for entity in entities)


def profile_text(profile: Sequence[ProfileLine], language: Language) -> str:
    """Returns the lines of a profile, each with the day on which it was said."""
    return "\n".join(f"- {line.day}: {line.describe(language)}" for line in profile)


def _extract_waiting(
    state: MemoryState,
    forgotten: Sequence[tuple[str, int]],
    known: Sequence[str],
    count: Count,
    room: int,
    language: Language,
) -> tuple[tuple[int, str], ...]:
    """Returns the statements of the waiting turns that the memory lacks, as an extracted fold would write them, with
    their turns, within the room that the memory leaves.

    Statements that may report the outcome of one in the memory are chosen first.
    """
    source = FoldInput(
        "", (), _take_last_words(state.waiting, SAID_CHARS), forgotten=tuple(forgotten), default=language
    )
    remembered = [statement.text for line in known for statement in statements_of(line)]
    statements = [
        statement
        for statement in extracted.new_statements(source.allowed_turns)
        if not any(is_same_line(statement.text, old) for old in remembered)
    ]
    outcomes = [
        statement
        for statement in statements
        if any(extracted.is_possible_outcome(old, statement.text) for old in remembered)
    ]
    chosen = list[DatedStatement]()
    for group in (outcomes, [statement for statement in statements if statement not in outcomes]):
        beside = "\n".join([*known, *extracted.render_memory_lines(chosen, source.language)])
        within = partial(_count_beside, beside, count)
        chosen = sorted(
            [*chosen, *extracted.choose_statements(group, (), source.language, within, room)],
            key=lambda statement: statement.last,
        )
    return tuple((statement.last, render_dated_line(statement, source.language)) for statement in chosen)


def _count_beside(text: str, count: Count, more: str) -> int:
    return count(f"{text}\n{more}") if more else 0


def _take_last_words(waiting: Sequence[MemoryTurn], most: int) -> tuple[MemoryTurn, ...]:
    """Returns the questions of the newest turns, ``most`` characters in all, which keeps work before an answer
    short."""
    kept, left = list[MemoryTurn](), most
    for turn in reversed(waiting[-MOST_LOOKED:]):
        kept.append(replace(turn, question=turn.question[:left], answer=""))
        left -= len(kept[-1].question)
    return tuple(reversed(kept))


def _fit_lines(lines: Sequence[str], count: Count, room: int) -> tuple[list[str], tuple[str, ...]]:
    """Returns the lines within ``room`` tokens, and those left out: the oldest go first."""
    kept, cut = [*lines], list[str]()
    while kept and count("\n".join(kept)) > room:
        cut.append(kept.pop(0))
    return kept, tuple(cut)


def _fit_profile(
    profile: Sequence[ProfileLine], language: Language, count: Count, room: int
) -> tuple[tuple[ProfileLine, ...], tuple[ProfileLine, ...]]:
    """Returns the lines of the profile within ``room`` tokens, and those left out: the last ones go first."""
    kept, cut = [*profile], list[ProfileLine]()
    while kept and count(profile_text(kept, language)) > room:
        cut.append(kept.pop())
    return tuple(kept), tuple(reversed(cut))


def _fit_entities(
    entities: Sequence[Entity], lines: Sequence[str], language: Language, count: Count, room: int
) -> tuple[tuple[Entity, ...], tuple[Entity, ...]]:
    """Returns the entities within ``room`` tokens, and those left out: the values before go first, the oldest of them
    before others; then the entities that a line tells, then the oldest."""
    repeated = [
        entity for entity in entities if any(has_whole_value(strip_line_turns(line), entity.value) for line in lines)
    ]
    spare = iter([*repeated, *(entity for entity in entities if entity not in repeated)])
    kept, changed = [*entities], iter([at for at, entity in enumerate(entities) if entity.old is not None])
    while kept and count(entity_line(kept, language)) > room:
        at = next(changed, None)
        if at is None:
            kept.remove(next(spare))
        else:
            kept[at] = replace(kept[at], old=None)
    return tuple(kept), tuple(entity for entity in entities if entity not in kept)
