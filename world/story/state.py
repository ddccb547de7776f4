"""The state of a story after one turn: immutable, and equal for everybody who computes it from the same turns."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from store.world.change import rename_person_rows
from store.world.record import (
    UNKNOWN_TIME,
    Alias,
    AliasKind,
    Changes,
    Character,
    Episode,
    LeftOutName,
    Location,
    LoreMark,
    PlayerItem,
    Relation,
    StoryTime,
    UsedItem,
)
from world.naming.spelling import reduce_name

RECENT = 5
"""How many of the last episodes a state carries."""
IMPORTANT = 20
"""How many of the most important episodes a state carries."""
FULL_HP = 100
"""The hit points with which a player begins."""
_EMPTY: Mapping[Any, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class StoryState:
    """What is so after turn ``turn``. ``characters``, ``locations``, ``items``: by name; ``relations``: by the two
    names; ``lore``: by the entry's id; ``aliases``: by kind and bare name; ``left_out``: by name. ``recent``: the last
    episodes, oldest first; ``important``: those with the highest importance, highest first. ``player``: the name of the
    user's character, who is one of ``characters``.
    """

    player: str
    turn: int = 0
    characters: Mapping[str, Character] = field(default_factory=lambda: _EMPTY)
    relations: Mapping[tuple[str, str], Relation] = field(default_factory=lambda: _EMPTY)
    locations: Mapping[str, Location] = field(default_factory=lambda: _EMPTY)
    items: Mapping[str, PlayerItem] = field(default_factory=lambda: _EMPTY)
    lore: Mapping[int, LoreMark] = field(default_factory=lambda: _EMPTY)
    aliases: Mapping[tuple[AliasKind, str], Alias] = field(default_factory=lambda: _EMPTY)
    left_out: Mapping[str, LeftOutName] = field(default_factory=lambda: _EMPTY)
    time: StoryTime = UNKNOWN_TIME
    mood: str = ""
    recent: tuple[Episode, ...] = ()
    important: tuple[Episode, ...] = ()

    @property
    def me(self) -> Character:
        """Returns the player's character."""
        return self.characters.get(self.player) or Character(self.player, hp=FULL_HP)

    def after(self, changes: Changes, turn: int) -> StoryState:
        """Returns the state after one more turn, numbered ``turn``. What became one with something else goes."""
        own = reduce_name(self.player)  # the player's own name is no further name of anybody
        new = {(one.kind, reduce_name(one.name)): one for one in changes.aliases}
        new.pop(("person", own), None)
        aliases = _add_frozen_values(self.aliases, new)
        changes = self._rename_player_rows(changes, aliases)
        people, places = (_find_merged(aliases, kind) for kind in ("person", "place"))
        return replace(
            self,
            turn=turn,
            characters=_drop_rows(
                _add_frozen_values(self.characters, {one.name: one for one in changes.characters}), people
            ),
            relations=_drop_rows(
                _add_frozen_values(self.relations, {(one.from_char, one.to_char): one for one in changes.relations}),
                people,
            ),
            locations=_drop_rows(
                _add_frozen_values(self.locations, {one.name: one for one in changes.locations}), places
            ),
            items=_renew_items(self.items, changes),
            lore=_add_frozen_values(self.lore, {one.lore: one for one in changes.lore}),
            aliases=aliases,
            left_out=_add_frozen_values(self.left_out, {one.name: one for one in changes.left_out}),
            time=changes.times[-1] if changes.times else self.time,
            mood=self.mood if changes.mood is None else changes.mood,
            recent=(*self.recent, changes.episode)[-RECENT:] if changes.episode else self.recent,
            important=_choose_important_episodes(self.important, changes.episode),
        )

    def _rename_player_rows(self, changes: Changes, aliases: Mapping[tuple[AliasKind, str], Alias]) -> Changes:
        """Returns changes with the player's rows under the present name: those of earlier turns bear the name that he
        had then."""
        after = replace(self, aliases=aliases)
        names = {one.name for one in self.aliases.values() if one.kind == "person" and one.name != one.of}
        found = {one: {self.find_alias("person", one), after.find_alias("person", one)} for one in names}
        former = [one for one in names if found[one] == {self.player}]
        return rename_person_rows(changes, former, self.player) if former else changes

    def is_left_out(self, *names: str) -> bool:
        """Returns whether the curator has left one of these names out of live_state.md."""
        return any(name in self.left_out and self.left_out[name].hidden for name in names)

    def find_alias(self, kind: AliasKind, name: str) -> str:
        """Returns the name in the tables of a person or place that is called so; empty where no alias says it."""
        found, seen = self.aliases.get((kind, reduce_name(name))), set[str]()
        while found is not None and found.of not in seen:
            seen.add(found.of)
            then = self.aliases.get((kind, reduce_name(found.of)))
            if then is None or then.of == then.name:
                return found.of
            found = then
        return ""

    def further_names(self, kind: AliasKind) -> dict[str, list[str]]:
        """Returns the aliases of everybody, or of every place, that has some, by the name in the tables."""
        found: dict[str, list[str]] = {}
        for of_kind, _ in self.aliases:
            if of_kind == kind:
                one = self.aliases[of_kind, _]
                if (name := self.find_alias(kind, one.name)) and name != one.name:
                    found.setdefault(name, []).append(one.name)
        return found

    def changes(self) -> Changes:
        """Returns the changes that lead from an empty state to this one, for a snapshot; without episodes."""
        return Changes(
            tuple(self.characters.values()),
            tuple(self.relations.values()),
            tuple(self.locations.values()),
            tuple(self.items.values()),
            tuple(self.lore.values()),
            tuple(self.aliases.values()),
            tuple(self.left_out.values()),
            tuple(map(UsedItem, self.items)),
            (self.time,),
            self.mood,
        )


def _add_frozen_values(old: Mapping[Any, Any], new: dict[Any, Any]) -> Mapping[Any, Any]:
    return MappingProxyType({**old, **new}) if new else old


def _find_merged(aliases: Mapping[tuple[AliasKind, str], Alias], kind: AliasKind) -> set[str]:
    """Returns the names that are no row of their own any more."""
    return {one.name for one in aliases.values() if one.kind == kind and one.of != one.name}


def _drop_rows(rows: Mapping[Any, Any], names: set[str]) -> Mapping[Any, Any]:
    """Returns rows without those of these names; the key of a relation has two."""
    gone = [key for key in rows if not names.isdisjoint(key if isinstance(key, tuple) else (key,))] if names else []
    return MappingProxyType({key: row for key, row in rows.items() if key not in gone}) if gone else rows


def _renew_items(old: Mapping[str, PlayerItem], changes: Changes) -> Mapping[str, PlayerItem]:
    """Returns the things with those that a turn used or changed at the end, the changed ones last; those of one turn
    against their names, because the database has no order of them."""
    changed = {one.name: one for one in sorted(changes.items, key=lambda one: one.name, reverse=True)}
    used = sorted((one.name for one in changes.used if one.name in old and one.name not in changed), reverse=True)
    new = {**{name: old[name] for name in used}, **changed}
    return MappingProxyType({**{name: one for name, one in old.items() if name not in new}, **new}) if new else old


def _choose_important_episodes(kept: tuple[Episode, ...], episode: Episode | None) -> tuple[Episode, ...]:
    if episode is None or episode.importance <= 0:
        return kept
    return tuple(heapq.nlargest(IMPORTANT, (*kept, episode), key=lambda one: (one.importance, one.turn)))
