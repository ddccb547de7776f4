"""What one turn changes: its state blocks in order, checked against the state before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from store.world.record import Changes, Episode, LoreEntry
from world.block import Fields, Noticed, check, contradictions
from world.state import State


@dataclass(frozen=True, slots=True)
class Worked:
    """``state``: after the turn. ``block``: all fields that were read, None without any. ``noticed``: where the answer
    contradicts the state before it."""

    changes: Changes
    state: State
    refusals: tuple[str, ...]
    block: Fields | None
    noticed: tuple[Noticed, ...]


def worked(
    blocks: Sequence[Fields], before: State, lore: Sequence[LoreEntry], node: int, turn: int, text: str
) -> Worked:
    """Returns what these blocks change, in their order; without any, only what the text itself tells.

    ``text``: question and answer. ``node``: the id of the turn.
    """
    state, changes, refusals, noticed = before, Changes(), list[str](), list[Noticed]()
    for number, fields in enumerate(blocks or ({},)):
        noticed += contradictions(fields, state, text if not number else "", turn)
        checked = check(fields, state, lore, turn, text if not number else "")
        refusals += checked.refusals
        changes = merged(changes, checked.changes)
        state = before.after(changes, turn)
    changes = _of(changes, node)
    return Worked(changes, before.after(changes, turn), tuple(refusals), joined(blocks), tuple(noticed))


def merged(first: Changes, then: Changes) -> Changes:
    """Returns both changes as one: of two values for the same thing the later one."""
    return Changes(
        tuple(({one.name: one for one in (*first.characters, *then.characters)}).values()),
        tuple(({(one.from_char, one.to_char): one for one in (*first.relations, *then.relations)}).values()),
        tuple(({one.name: one for one in (*first.locations, *then.locations)}).values()),
        tuple(({one.name: one for one in (*first.items, *then.items)}).values()),
        tuple(({one.lore: one for one in (*first.lore, *then.lore)}).values()),
        first.mood if then.mood is None else then.mood,
        _episode(first.episode, then.episode),
    )


def _episode(first: Episode | None, then: Episode | None) -> Episode | None:
    if first is None or then is None:
        return first or then
    parts = dict.fromkeys(part for one in (first, then) for part in one.description.split(" | ") if part)
    people = dict.fromkeys((*first.participants, *then.participants))
    return replace(
        then,
        description=" | ".join(parts),
        participants=tuple(people),
        importance=max(first.importance, then.importance),
    )


def joined(blocks: Sequence[Fields]) -> Fields | None:
    """Returns the fields of all blocks as one, for people to read: lists are joined, hit points added, of other values
    the last one stays."""
    if not blocks:
        return None
    fields: dict[str, Any] = {}
    for block in blocks:
        for name, value in block.items():
            known = fields.get(name)
            adds = name == "hp_change" and isinstance(known, int) and isinstance(value, int)
            both = isinstance(known, list) and isinstance(value, list)
            fields[name] = known + value if known is not None and (adds or both) else value
    return fields


def _of(changes: Changes, node: int) -> Changes:
    """Returns the changes with the turn's id in its episode."""
    return replace(changes, episode=replace(changes.episode, node=node)) if changes.episode else changes
