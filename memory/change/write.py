"""Changes of a memory other than by a fold: turns, values, pins, texts to forget, a text by hand.

Pure functions of states, so that a write can be tried again when the memory has changed in the meantime.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from errors import PinsFull
from memory.change.drop import without
from memory.state import MOST_PINS, Entity, MemoryTurn, Origin, State, Version, added, note, put, same_key
from memory.view import adopted


def written(state: State, kind: str, user: str, data: Mapping[str, Any]) -> State:
    """Returns the state with one change: a turn, a value to keep, turns to skip, a text to forget, or keeping the
    session apart. Applying a change twice has the same result as once."""
    state = replace(state, user=state.user or user)
    if kind == "turn":
        return note(state, MemoryTurn(**data))
    if kind == "apart":
        return replace(state, apart=True)
    if kind == "skip":
        return replace(state, folded=added(state.folded, range(1, data["last"] + 1)))
    if kind == "remember":
        return replace(state, entities=put(state.entities, Entity(**data)))
    return without(state, texts(data), data["turn"])


def texts(data: Mapping[str, Any]) -> list[str]:
    """Returns the texts to forget; a change that an earlier release queued holds one text."""
    return data["texts"] if "texts" in data else [data["what"]]


def forgotten(owner: State, texts: Sequence[str]) -> State:
    """Returns a user's memory without these lines; with turn 0, since turn numbers of sessions mean nothing there."""
    return without(owner, texts, 0) if owner.revision else owner


def pinned(state: State, statement: str) -> State:
    """Returns the state with a statement that every later memory must hold. Raises ``PinsFull``."""
    pins = tuple(dict.fromkeys([*state.pins, statement]))
    if len(pins) > max(MOST_PINS, len(state.pins)):
        raise PinsFull(limit=MOST_PINS)
    pinned = tuple(dict.fromkeys([*state.pinned, statement]))[-MOST_PINS:]
    return replace(state, pins=pins, pinned=pinned)


def unpinned(state: State, statement: str) -> State:
    """Returns the state without this pin, so that the statement may be forgotten."""
    pins, pinned = (tuple(pin for pin in group if pin != statement) for group in (state.pins, state.pinned))
    return replace(state, pins=pins, pinned=pinned)


def without_entity(state: State, key: str) -> State:
    """Returns the state without the entity of this key (``same_key``)."""
    return replace(state, entities=tuple(entity for entity in state.entities if same_key(entity.key) != key))


def version(origin: Origin, before: State, after: State, base: State | None = None) -> Version | None:
    """Returns the version that a change by hand creates, or that a takeover of earlier sessions' memory (``base``)
    creates.

    Returns None when no text changed and no entity of a memory was removed; a value that was only added makes no
    version.
    """
    shown, keys = adopted(before, base), {same_key(entity.key) for entity in after.entities}
    dropped = tuple(entity for entity in shown.entities if same_key(entity.key) not in keys)
    inherits = not before.version and base is not None and bool(base.text or base.entities)
    if not inherits and after.text == before.text and not (before.version and dropped):
        return None
    result = Version(before.version + 1, after.text, origin, time.time(), prior=shown.text, dropped=dropped)
    return replace(result, before=before.entities, after=after.entities)
