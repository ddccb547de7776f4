"""The state of a story after one turn: immutable, and equal for everybody who computes it from the same turns."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from store.world.record import Changes, Character, Episode, Item, Location, LoreMark, Relation

RECENT = 5
"""How many of the last episodes a state carries."""
IMPORTANT = 20
"""How many of the most important episodes a state carries."""
FULL_HP = 100
"""The hit points with which a player begins."""
_EMPTY: Mapping[Any, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class State:
    """What is so after turn ``turn``. ``characters``, ``locations``, ``items``: by name; ``relations``: by the two
    names; ``lore``: by the entry's id. ``recent``: the last episodes, oldest first; ``important``: those with the
    highest importance, highest first. ``player``: the name of the user's character, who is one of ``characters``.
    """

    player: str
    turn: int = 0
    characters: Mapping[str, Character] = field(default_factory=lambda: _EMPTY)
    relations: Mapping[tuple[str, str], Relation] = field(default_factory=lambda: _EMPTY)
    locations: Mapping[str, Location] = field(default_factory=lambda: _EMPTY)
    items: Mapping[str, Item] = field(default_factory=lambda: _EMPTY)
    lore: Mapping[int, LoreMark] = field(default_factory=lambda: _EMPTY)
    mood: str = ""
    recent: tuple[Episode, ...] = ()
    important: tuple[Episode, ...] = ()

    @property
    def me(self) -> Character:
        """Returns the player's character."""
        return self.characters.get(self.player) or Character(self.player, hp=FULL_HP)

    def after(self, changes: Changes, turn: int) -> State:
        """Returns the state after one more turn, numbered ``turn``."""
        return replace(
            self,
            turn=turn,
            characters=_with(self.characters, {one.name: one for one in changes.characters}),
            relations=_with(self.relations, {(one.from_char, one.to_char): one for one in changes.relations}),
            locations=_with(self.locations, {one.name: one for one in changes.locations}),
            items=_renew_items(self.items, changes.items),
            lore=_with(self.lore, {one.lore: one for one in changes.lore}),
            mood=self.mood if changes.mood is None else changes.mood,
            recent=(*self.recent, changes.episode)[-RECENT:] if changes.episode else self.recent,
            important=_important(self.important, changes.episode),
        )

    def changes(self) -> Changes:
        """Returns the changes that lead from an empty state to this one, for a snapshot; without episodes."""
        return Changes(
            tuple(self.characters.values()),
            tuple(self.relations.values()),
            tuple(self.locations.values()),
            tuple(self.items.values()),
            tuple(self.lore.values()),
            self.mood,
        )


def _with(old: Mapping[Any, Any], new: dict[Any, Any]) -> Mapping[Any, Any]:
    return MappingProxyType({**old, **new}) if new else old


def _renew_items(old: Mapping[str, Item], new: tuple[Item, ...]) -> Mapping[str, Item]:
    """Returns the things with those that a turn changed at the end, so that what was gained or used last stands last;
    those of one turn against their names, because the database has no order of them."""
    if not new:
        return old
    changed = {one.name: one for one in sorted(new, key=lambda one: one.name, reverse=True)}
    return MappingProxyType({**{name: one for name, one in old.items() if name not in changed}, **changed})


def _important(kept: tuple[Episode, ...], episode: Episode | None) -> tuple[Episode, ...]:
    if episode is None or episode.importance <= 0:
        return kept
    return tuple(heapq.nlargest(IMPORTANT, (*kept, episode), key=lambda one: (one.importance, one.turn)))
