"""The changes of one turn while they are gathered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from store.world.record import Changes, Character, Location, PlayerItem, Relation, StoryTime, UsedItem
from text.language import Language
from world.block.episode import Deeds
from world.block.field import Field
from world.block.refusal import render_refusal
from world.block.value import ValueRefusal
from world.naming.resolve import NameResolver
from world.story.state import StoryState

SHARE = 0.5
"""The share of a block's fields above which unreadable ones make the whole block worthless."""
ABOUT_NAMES = ("dead", "not_held", "not_said")
"""Refusals that say of a readable value that it does not fit this story: they make nothing else worthless."""


@dataclass
class ChangesDraft:
    """``before``: the state before the turn. ``deeds``: what happened, for the turn's episode. ``taken_last``: things
    that the turn gives and takes. ``unreadable``: how many fields could not be read."""

    before: StoryState
    language: Language
    names: NameResolver
    characters: dict[str, Character] = field(default_factory=dict)
    relations: dict[tuple[str, str], Relation] = field(default_factory=dict)
    locations: dict[str, Location] = field(default_factory=dict)
    items: dict[str, PlayerItem] = field(default_factory=dict)
    taken_last: list[tuple[str, int | None]] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    time: StoryTime | None = None
    mood: str | None = None
    deeds: Deeds = field(default_factory=Deeds)
    refusals: list[str] = field(default_factory=list)
    unreadable: int = 0

    def state(self, turn: int) -> StoryState:
        """Returns the state after the turn, without its episode."""
        return self.before.after(self.changes(), turn)

    def changes(self) -> Changes:
        """Returns what was gathered, without lorebook and episode."""
        return Changes(
            tuple(self.characters.values()),
            tuple(self.relations.values()),
            tuple(self.locations.values()),
            tuple(self.items.values()),
            aliases=tuple(self.names.aliases.values()),
            used=tuple(UsedItem(name) for name in sorted(self.used - {*self.items})),
            times=(self.time,) if self.time not in (None, self.before.time) else (),
            mood=self.mood,
        )

    def find_touched(self) -> set[str]:
        """Returns the names that the turn changed something about."""
        return {*self.characters, *self.items, *self.locations}

    def refuse(self, name: str, error: ValueRefusal) -> None:
        """Notes why a field, or a part of it, was not taken."""
        self.refusals.append(render_refusal(name, error.code, self.language, **error.values))
        self.unreadable += error.code not in ABOUT_NAMES

    def take_each(self, name: Field, entries: Sequence[Any], take: Callable[[Any], None]) -> None:
        """Takes the entries of a list one by one. Raises ``ValueRefusal`` when none of them was sound."""
        refused: list[ValueRefusal] = []
        for entry in entries:
            try:
                take(entry)
            except ValueRefusal as error:
                refused.append(error)
        none = bool(refused) and len(refused) == len(entries)
        unreadable = self.unreadable
        for one in refused[:-1] if none else refused:
            self.refuse(name, one)
        self.unreadable = unreadable  # a field counts once
        if none:
            raise refused[-1]

    @property
    def me(self) -> Character:
        """Returns the player's character as it is now."""
        return self.characters.get(self.before.player) or self.before.me

    def character(self, name: str) -> Character:
        """Returns a character as it is now; a new one when nobody has that name."""
        known = self.characters.get(name) or self.before.characters.get(name)
        return known or (self.me if name == self.before.player else Character(name))

    def is_known(self, name: str) -> bool:
        """Returns whether the story or the turn's text knows somebody of this name: else the model made him up, or
        copied him from the instruction."""
        known = (self.before.player, *self.before.characters, *self.characters)
        return name in known or self.names.is_said(name)

    def change_character(self, name: str, **values: Any) -> None:
        """Changes what is so of a character."""
        self.characters[name] = replace(self.character(name), **values)

    def place(self, name: str) -> Location:
        """Returns a place as it is now; a new one when none has that name."""
        return self.locations.get(name) or self.before.locations.get(name) or Location(name)

    def companions(self) -> list[str]:
        """Returns who travels along now."""
        everybody = {**self.before.characters, **self.characters}
        return [name for name, one in everybody.items() if one.companion and not one.dead]
