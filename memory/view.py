"""What the context gets of a memory: within its budgets in tokens, cut by rule (copilot-rag.md §5, design §4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from memory import change
from memory.source import Source
from memory.state import MOST_PINS, Entity, Rejection, Replaced, State, Turn, instead, put
from memory.subject import subject
from memory.value import same, tells
from text import sentence

Count = Callable[[str], int]
MOST_WAITING, SAID_CHARS = 10, 2000
"""Of turns that wait: how many, and how much of their questions, are looked through for changed values."""


@dataclass(frozen=True, slots=True)
class MemoryView:
    """A memory as the context and the panel take it.

    ``text``: the memory of now (values that were changed since the last fold are in it) within its budget, one
    sentence per line, oldest first, pinned statements before the rest; ``entities``: within theirs, oldest first.
    ``tokens``, ``entity_tokens``: what these take; ``cut``, ``cut_entities``: what was left out, the oldest first.
    ``away``: Redis cannot be used now, ``why``: values of ``MemoryAway``; all else is then empty. ``whole``: the text
    as the last fold left it, without the budget. ``from_user``: the session has no memory of its own yet and shows what
    earlier sessions of the user left. ``waiting``: numbers of the turns that are not in the memory yet. ``expires``:
    seconds of disuse until it leaves Redis for the archive; 0: never.
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
    short: tuple[Turn, ...] = ()
    rejection: Rejection | None = None
    updated: float = 0.0
    expires: float = 0.0

    @property
    def entity_text(self) -> str:
        """The entities as the context takes them: ``provider: aws, budget: $10,000`` (copilot-rag.md §5.1)."""
        return entity_line(self.entities)


def view(state: State, base: State | None, count: Count, room: int, entity_room: int, expires: float) -> MemoryView:
    """The view of a session; ``base``: the user's memory, where the session has none of its own."""
    text = state.text if base is None else base.text
    entities = state.entities if base is None else merged(base.entities, state.entities)
    pins = state.pins if base is None else tuple(dict.fromkeys([*base.pins, *state.pins]))
    replaced = (*(instead(base.entities, state.entities) if base else ()), *state.replaced)
    said, entities = _of_now(sentence.split(text), entities, pins, state.waiting, replaced)
    lines, cut = fitted(said, pins, count, room)
    shown, left_out = _fitted_entities(entities, lines, count, entity_room)
    return MemoryView(
        text="\n".join(lines),
        entities=shown,
        version=state.version,
        tokens=count("\n".join(lines)),
        entity_tokens=count(entity_line(shown)),
        cut=cut,
        cut_entities=left_out,
        whole=text,
        pins=pins,
        from_user=base is not None and not base.empty,
        waiting=tuple(turn.number for turn in state.waiting),
        short=state.short,
        rejection=state.rejection,
        updated=state.updated or (base.updated if base else 0.0),
        expires=expires,
    )


def _of_now(
    lines: list[str],
    entities: tuple[Entity, ...],
    pins: Sequence[str],
    waiting: Sequence[Turn],
    replaced: tuple[Replaced, ...],
) -> tuple[list[str], tuple[Entity, ...]]:
    """Lines and entities with the values that were set or that the user has changed or denied since.

    So the context never tells an old value beside the turn that replaces it; what is pinned stays word for word.
    """
    source = Source("\n".join(lines), entities, said_last(waiting, SAID_CHARS), replaced=replaced)
    known = source.standing(entities)
    if not source.changes:
        return lines, known
    held = [any(pin in line for pin in pins) for line in lines]
    now = [line if pinned else change.apply(line, source.changes) for line, pinned in zip(lines, held, strict=True)]
    return now, known


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
    replaced = (*instead(base.entities, state.entities), *state.replaced)
    entities = merged(base.entities, state.entities)
    return replace(state, text=base.text, entities=entities, pins=pins, start=base.mark, replaced=replaced)


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
    """Entities within ``room`` tokens: the oldest are left out, before them those that the lines or others tell."""
    told = [each for at, each in enumerate(entities) if _told(each, lines, entities[at + 1 :])]
    spare = iter([*told, *(each for each in entities if each not in told)])
    kept = list(entities)
    while kept and count(entity_line(kept)) > room:
        kept.remove(next(spare))
    return tuple(kept), tuple(each for each in entities if each not in kept)


def _told(entity: Entity, lines: Sequence[str], later: Sequence[Entity]) -> bool:
    """Whether a line has the value, or a later entity the same one for the same subject."""
    about = subject(entity.key)
    again = any(same(each.value, entity.value) and subject(each.key) == about for each in later)
    return again or any(tells(line, entity.value) for line in lines)
