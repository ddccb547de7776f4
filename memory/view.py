"""The part of a memory that a prompt gets: within token budgets, cut by rule (specification 6.7, design 4.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from memory.fold import extracted
from memory.fold.fold_input import FoldInput
from memory.line import Told, bare, dated, lines, same, statements_of, taken_over, tells
from memory.state import MOST_PINS, Entity, MemoryTurn, Rejection, State, put
from text.language import Language

Count = Callable[[str], int]
MOST_WAITING, SAID_CHARS = 10, 2000
"""Limits for waiting turns shown as lines: how many turns, and how many characters of their questions."""


@dataclass(frozen=True, slots=True)
class MemoryView:
    """A memory as prompts and the panel show it.

    ``text``: the memory within its budget, one sentence per line, oldest first, pinned statements before the rest;
    ``entities``: the entities within their budget, oldest first. ``tokens``, ``entity_tokens``: the tokens of both;
    ``cut``, ``cut_entities``: lines and entities left out, oldest first. ``waiting``: numbers of the turns that the
    memory has not taken in yet; ``waiting_lines``: the lines that these turns become if code folds them, each with its
    turn, within the tokens that ``text`` leaves free; for a prompt that no longer holds these turns themselves.
    ``away``: Redis cannot be used now; ``why``: values of ``MemoryAway``; all other fields are empty then. ``whole``:
    the text without the budget. ``from_user``: the session has no memory of its own yet and shows what the user's
    earlier sessions left. ``expires``: seconds without use until the memory leaves Redis for the archive; 0: never.
    ``apart``: the session is kept apart from others.
    """

    text: str = ""
    entities: tuple[Entity, ...] = ()
    version: int = 0
    away: bool = False
    why: Mapping[str, Any] = field(default_factory=dict)
    tokens: int = 0
    entity_tokens: int = 0
    cut: tuple[str, ...] = ()
    cut_entities: tuple[Entity, ...] = ()
    whole: str = ""
    pins: tuple[str, ...] = ()
    from_user: bool = False
    waiting: tuple[int, ...] = ()
    waiting_lines: tuple[tuple[int, str], ...] = ()
    short: tuple[MemoryTurn, ...] = ()
    rejection: Rejection | None = None
    updated: float = 0.0
    expires: float = 0.0
    apart: bool = False

    @property
    def entity_text(self) -> str:
        """Returns the entities in the form for a prompt: ``provider: aws, budget: $10,000`` (specification 6.7)."""
        return entity_line(self.entities)


def view(
    state: State,
    base: State | None,
    count: Count,
    room: int,
    entity_room: int,
    expires: float,
    language: Language = "ko",
) -> MemoryView:
    """Returns the view of a session; ``base``: the user's memory when the session has no memory of its own."""
    text = state.text if base is None else taken_over(base.text)
    entities = state.entities if base is None else merged(base.entities, state.entities)
    pins = state.pins if base is None else tuple(dict.fromkeys([*base.pins, *state.pins]))
    kept_lines, cut = fitted(lines(text), pins, count, room)
    kept_entities, cut_entities = _fitted_entities(entities, kept_lines, count, entity_room)
    return MemoryView(
        text="\n".join(kept_lines),
        entities=kept_entities,
        version=state.version,
        tokens=count("\n".join(kept_lines)),
        entity_tokens=count(entity_line(kept_entities)),
        cut=cut,
        cut_entities=cut_entities,
        whole=text,
        pins=pins,
        from_user=base is not None and not base.empty,
        waiting=tuple(turn.number for turn in state.waiting),
        waiting_lines=_waiting_lines(state, kept_lines, count, room, language),
        short=state.short,
        rejection=state.rejection,
        updated=state.updated or (base.updated if base else 0.0),
        expires=expires,
        apart=state.apart,
    )


def _waiting_lines(
    state: State, known: Sequence[str], count: Count, room: int, language: Language
) -> tuple[tuple[int, str], ...]:
    """Returns the statements of the waiting turns that the memory lacks, as an extracted fold would write them, with
    their turns, within the room that the memory leaves.

    Statements that may report the outcome of one in the memory are chosen first.
    """
    source = FoldInput("", (), said_last(state.waiting, SAID_CHARS), forgotten=state.forgotten, default=language)
    remembered = [statement.text for line in known for statement in statements_of(line)]
    statements = [
        statement
        for statement in extracted.new_statements(source.told)
        if not any(same(statement.text, old) for old in remembered)
    ]
    outcomes = [statement for statement in statements if any(extracted.kin(old, statement.text) for old in remembered)]
    chosen = list[Told]()
    for group in (outcomes, [statement for statement in statements if statement not in outcomes]):
        beside = "\n".join([*known, *extracted.written(chosen, source.language)])
        within = partial(_beside, beside, count)
        chosen = sorted(
            [*chosen, *extracted.choose(group, (), source.language, within, room)], key=lambda statement: statement.last
        )
    return tuple((statement.last, dated(statement, source.language)) for statement in chosen)


def _beside(text: str, count: Count, more: str) -> int:
    return count(f"{text}\n{more}") if more else 0


def said_last(waiting: Sequence[MemoryTurn], most: int) -> tuple[MemoryTurn, ...]:
    """Returns the questions of the newest turns, ``most`` characters in all, which keeps work before an answer
    short."""
    kept, left = list[MemoryTurn](), most
    for turn in reversed(waiting[-MOST_WAITING:]):
        kept.append(replace(turn, question=turn.question[:left], answer=""))
        left -= len(kept[-1].question)
    return tuple(reversed(kept))


def adopted(state: State, base: State | None) -> State:
    """Returns the session's state with the user's memory (``base``) as its own, when the session has no memory yet."""
    if base is None or base.empty or state.version:
        return state
    pins = tuple(dict.fromkeys([*base.pins, *state.pins]))[-MOST_PINS:]
    entities = merged(base.entities, state.entities)
    return replace(state, text=taken_over(base.text), entities=entities, pins=pins, start=base.mark)


def entity_line(entities: Sequence[Entity]) -> str:
    """Returns keys and values in one line."""
    return ", ".join(entity.line for entity in entities)


def merged(base: Sequence[Entity], own: Sequence[Entity]) -> tuple[Entity, ...]:
    """Returns the user's entities (``base``) with the session's own ones, which replace those with the same key."""
    together = tuple(Entity(entity.key, entity.value, 0) for entity in base)  # turn 0: from before this session
    for entity in own:
        together = put(together, entity)
    return together


def fitted(lines: Sequence[str], pins: Sequence[str], count: Count, room: int) -> tuple[list[str], tuple[str, ...]]:
    """Returns pins, then sentences, within ``room`` tokens, and the lines left out: the oldest go first."""
    missing = [pin for pin in pins if not any(pin in line for line in lines)]
    kept, cut = [*missing, *lines], list[str]()
    while kept and count("\n".join(kept)) > room:
        loose = [line for line in kept if not any(pin in line for pin in pins)]
        oldest = loose[0] if loose else kept[0]
        kept.remove(oldest)
        cut.append(oldest)
    return kept, tuple(cut)


def _fitted_entities(
    entities: Sequence[Entity], lines: Sequence[str], count: Count, room: int
) -> tuple[tuple[Entity, ...], tuple[Entity, ...]]:
    """Returns the entities within ``room`` tokens, and those left out: first the ones a line tells, then the oldest."""
    repeated = [entity for entity in entities if any(tells(bare(line), entity.value) for line in lines)]
    spare = iter([*repeated, *(entity for entity in entities if entity not in repeated)])
    kept = list(entities)
    while kept and count(entity_line(kept)) > room:
        kept.remove(next(spare))
    return tuple(kept), tuple(entity for entity in entities if entity not in kept)
