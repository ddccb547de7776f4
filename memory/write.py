"""What is written into a memory other than by a fold: turns, values, pins, what is to be forgotten, a text by hand.

Pure functions of states, so that a write may be tried again when the memory changed meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from errors import PinsFull
from memory.drop import without
from memory.state import MOST_PINS, Entity, Origin, State, Turn, Version, added, note, put, same_key
from memory.view import adopted


def written(state: State, kind: str, user: str, data: Mapping[str, Any]) -> State:
    """With a turn, a value to keep, turns to skip or something to forget; twice is as good as once."""
    state = replace(state, user=state.user or user)
    if kind == "turn":
        return note(state, Turn(**data))
    if kind == "skip":
        return replace(state, folded=added(state.folded, range(1, data["last"] + 1)))
    if kind == "remember":
        return replace(state, entities=put(state.entities, Entity(**data)))
    return without(state, texts(data), data["turn"])


def texts(data: Mapping[str, Any]) -> list[str]:
    """What is to be forgotten; a wish that an earlier release left waiting is one text."""
    return data["texts"] if "texts" in data else [data["what"]]


def forgotten(owner: State, texts: Sequence[str]) -> State:
    """A user's memory without these lines; the numbers of its sessions' turns say nothing there."""
    return without(owner, texts, 0) if owner.revision else owner


def pinned(state: State, statement: str) -> State:
    """With a statement that every later memory must hold. Raises ``PinsFull``."""
    pins = tuple(dict.fromkeys([*state.pins, statement]))
    if len(pins) > max(MOST_PINS, len(state.pins)):
        raise PinsFull(limit=MOST_PINS)
    return replace(state, pins=pins)


def unpinned(state: State, statement: str) -> State:
    """The statement may be forgotten again."""
    return replace(state, pins=tuple(each for each in state.pins if each != statement))


def without_entity(state: State, key: str) -> State:
    """Without the entity of this key (``same_key``)."""
    return replace(state, entities=tuple(each for each in state.entities if same_key(each.key) != key))


def version(origin: Origin, before: State, after: State, base: State | None = None) -> Version | None:
    """The version that a change by hand makes, or taking over what earlier sessions left (``base``).

    None where neither the text nor an entity of a memory went; what was only remembered is not a version.
    """
    shown, keys = adopted(before, base), {same_key(each.key) for each in after.entities}
    dropped = tuple(each for each in shown.entities if same_key(each.key) not in keys)
    inherits = not before.version and base is not None and bool(base.text or base.entities)
    if not inherits and after.text == before.text and not (before.version and dropped):
        return None
    made = Version(before.version + 1, after.text, origin, time.time(), prior=shown.text, dropped=dropped)
    return replace(made, before=before.entities, after=after.entities)
