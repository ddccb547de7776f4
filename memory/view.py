"""What the context gets of a memory: within its budgets in tokens, cut by rule (copilot-rag.md §5, design §4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from memory.fold import extracted
from memory.line import Told, bare, dated, from_before, lines, same, statements_of, tells
from memory.source import Source
from memory.state import MOST_PINS, Entity, Rejection, State, Turn, put
from text.language import Language

Count = Callable[[str], int]
MOST_WAITING, SAID_CHARS = 10, 2000
"""Of turns that wait: how many, and how much of their questions, are told as lines."""


@dataclass(frozen=True, slots=True)
class MemoryView:
    """A memory as the context and the panel take it.

    ``text``: the memory within its budget, one sentence per line, oldest first, pinned statements before the rest;
    ``entities``: within theirs, oldest first. ``tokens``, ``entity_tokens``: what these take; ``cut``,
    ``cut_entities``: what was left out, the oldest first. ``waiting``: numbers of the turns that are not in the memory
    yet; ``waiting_lines``: what they will be there if code folds them, each a turn and its dated line, within the
    tokens that ``text`` leaves: for a prompt that no longer holds these turns themselves. ``away``: Redis cannot be
    used now, ``why``: values of ``MemoryAway``; all else is then empty. ``whole``: the text without the budget.
    ``from_user``: the session has no memory of its own yet and shows what earlier sessions of the user left.
    ``expires``: seconds of disuse until it leaves Redis for the archive; 0: never.
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
    short: tuple[Turn, ...] = ()
    rejection: Rejection | None = None
    updated: float = 0.0
    expires: float = 0.0

    @property
    def entity_text(self) -> str:
        """The entities as the context takes them: ``provider: aws, budget: $10,000`` (copilot-rag.md §5.1)."""
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
    """The view of a session; ``base``: the user's memory, where the session has none of its own."""
    text = state.text if base is None else from_before(base.text)
    entities = state.entities if base is None else merged(base.entities, state.entities)
    pins = state.pins if base is None else tuple(dict.fromkeys([*base.pins, *state.pins]))
    kept, cut = fitted(lines(text), pins, count, room)
    shown, left_out = _fitted_entities(entities, kept, count, entity_room)
    return MemoryView(
        text="\n".join(kept),
        entities=shown,
        version=state.version,
        tokens=count("\n".join(kept)),
        entity_tokens=count(entity_line(shown)),
        cut=cut,
        cut_entities=left_out,
        whole=text,
        pins=pins,
        from_user=base is not None and not base.empty,
        waiting=tuple(turn.number for turn in state.waiting),
        waiting_lines=_waiting_lines(state, kept, count, room, language),
        short=state.short,
        rejection=state.rejection,
        updated=state.updated or (base.updated if base else 0.0),
        expires=expires,
    )


def _waiting_lines(
    state: State, known: Sequence[str], count: Count, room: int, language: Language
) -> tuple[tuple[int, str], ...]:
    """What the waiting turns tell that the memory does not, as the extracted fold puts it, in the room beside it.

    What may tell what became of something in the memory comes first.
    """
    source = Source("", (), said_last(state.waiting, SAID_CHARS), forgotten=state.forgotten, default=language)
    held = [each.text for line in known for each in statements_of(line)]
    told = [each for each in extracted.new_statements(source.told) if not any(same(each.text, one) for one in held)]
    news = [each for each in told if any(extracted.kin(one, each.text) for one in held)]
    taken = list[Told]()
    for some in (news, [each for each in told if each not in news]):
        beside = "\n".join([*known, *extracted.written(taken, source.language)])
        within = partial(_beside, beside, count)
        taken = sorted([*taken, *extracted.choose(some, (), source.language, within, room)], key=lambda each: each.last)
    return tuple((each.last, dated(each, source.language)) for each in taken)


def _beside(text: str, count: Count, more: str) -> int:
    return count(f"{text}\n{more}") if more else 0


def said_last(waiting: Sequence[Turn], most: int) -> tuple[Turn, ...]:
    """The questions of the newest turns, ``most`` characters of them: what is done before an answer is soon done."""
    kept, left = list[Turn](), most
    for turn in reversed(waiting[-MOST_WAITING:]):
        kept.append(replace(turn, question=turn.question[:left], answer=""))
        left -= len(kept[-1].question)
    return tuple(reversed(kept))


def adopted(state: State, base: State | None) -> State:
    """The session's state with what earlier sessions left as its own, where it has no memory yet."""
    if base is None or base.empty or state.version:
        return state
    pins = tuple(dict.fromkeys([*base.pins, *state.pins]))[-MOST_PINS:]
    entities = merged(base.entities, state.entities)
    return replace(state, text=from_before(base.text), entities=entities, pins=pins, start=base.mark)


def entity_line(entities: Sequence[Entity]) -> str:
    """Keys and values in one line."""
    return ", ".join(each.line for each in entities)


def merged(base: Sequence[Entity], own: Sequence[Entity]) -> tuple[Entity, ...]:
    """A user's entities under a session's own ones."""
    together = tuple(Entity(each.key, each.value, 0) for each in base)  # turn 0: from before this session
    for each in own:
        together = put(together, each)
    return together


def fitted(lines: Sequence[str], pins: Sequence[str], count: Count, room: int) -> tuple[list[str], tuple[str, ...]]:
    """Pinned statements, then sentences within ``room`` tokens: the oldest are left out; (kept, cut)."""
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
    """Entities within ``room`` tokens: the oldest are left out, before them those whose value a line tells."""
    told = [each for each in entities if any(tells(bare(line), each.value) for line in lines)]
    spare = iter([*told, *(each for each in entities if each not in told)])
    kept = list(entities)
    while kept and count(entity_line(kept)) > room:
        kept.remove(next(spare))
    return tuple(kept), tuple(each for each in entities if each not in kept)
