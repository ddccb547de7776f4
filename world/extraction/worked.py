"""What one turn changes: its state blocks in order, checked against the state before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from store.world import change
from store.world.record import Changes, Episode, Origin, StoryNode
from text.language import Language
from world.block import Fields, Noticed, check_block_fields, find_contradictions
from world.lore.lorebook import Lorebook
from world.story.state import StoryState


@dataclass(frozen=True, slots=True)
class Worked:
    """``state``: after the turn. ``block``: all fields that were read, None without any. ``noticed``: where the answer
    contradicts the state before it."""

    changes: Changes
    state: StoryState
    refusals: tuple[str, ...]
    block: dict[str, Any] | None
    noticed: tuple[Noticed, ...]


def work_out_changes(
    blocks: Sequence[Fields],
    before: StoryState,
    book: Lorebook,
    node: StoryNode,
    language: Language,
    told: Sequence[Fields] | None = None,
) -> Worked:
    """Returns what these blocks of a turn change, in their order; without any, only which entries of the lorebook the
    turn mentions. ``language``: the world's. ``told``: what the answer's own blocks say, where ``blocks`` are a model's
    reading of it: a misreading is no contradiction of the story.
    """
    turn, text = node.turn, f"{node.question}\n{node.answer}"
    state, changes = before, Changes()
    refusals, noticed, taken = list[str](), list[Noticed](), list[dict[str, Any]]()
    for number, fields in enumerate(blocks or ({},)):
        own = fields if told is None else told[number] if number < len(told) else {}
        noticed += find_contradictions(own, state, node.answer if not number else "", language, book)
        checked = check_block_fields(fields, state, book, turn, text if not number else "", language)
        refusals += checked.refusals
        taken += [checked.fields] if blocks else []
        changes = merge_turn_changes(changes, checked.changes)
        state = before.after(changes, turn)
    changes = _set_episode_node(changes, node.id)
    return Worked(changes, before.after(changes, turn), tuple(refusals), join_block_fields(taken), tuple(noticed))


def drop_unsure_stay(fields: Fields, parent: StoryNode | None, origin: Origin) -> Fields:
    """Returns the fields without the word that nobody moved, where the state before is the less certain one: a model
    has read this turn or the one before, or both turns name the same place. So a wrong place does not stay for ever."""
    if parent is None:
        unsure = origin == "light"
    else:
        same = (parent.block or {}).get("location") == fields.get("location")
        unsure = same or "light" in (origin, parent.origin) or parent.origin == "none"
    return {name: value for name, value in fields.items() if name != "location_moved"} if unsure else fields


def merge_turn_changes(first: Changes, then: Changes) -> Changes:
    """Returns both changes as one, with what both episodes tell: of two values for the same thing the later one."""
    return replace(change.merge_changes(first, then), episode=_merge_episodes(first.episode, then.episode))


def _merge_episodes(first: Episode | None, then: Episode | None) -> Episode | None:
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


def join_block_fields(blocks: Sequence[Mapping[Any, Any]]) -> dict[str, Any] | None:
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


def _set_episode_node(changes: Changes, node: int) -> Changes:
    """Returns the changes with the turn's id in its episode."""
    return replace(changes, episode=replace(changes.episode, node=node)) if changes.episode else changes
