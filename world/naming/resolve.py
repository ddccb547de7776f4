"""Whom and which place a name in a state block means: one of the story's own names, or a new one."""

from __future__ import annotations

from collections.abc import Collection

from store.world.record import Alias, AliasKind
from world.lore.lorebook import Lorebook
from world.naming.spelling import (
    compare_people,
    find_spelling,
    have_different_titles,
    is_said,
    reduce_name,
    straighten,
    without_remark,
)
from world.state import State

PLAYER = frozenset(
    map(
        reduce_name,
        ("player", "player character", "you", "user", "{{user}}", "protagonist", "주인공", "당신", "플레이어", "유저"),
    )
)
"""What models call the player whatever his name is."""


class NameResolver:
    """Resolves the names of one turn. ``text``: question and answer. ``aliases``: what it has found out, for the
    record: names that are one person or place by the lorebook or by their words."""

    def __init__(self, state: State, book: Lorebook, text: str) -> None:
        self._state, self._book, self._text = state, book, text
        self._new: dict[AliasKind, list[str]] = {"person": [], "place": []}
        self.aliases: dict[tuple[AliasKind, str], Alias] = {}

    def resolve_person(self, name: str) -> str:
        """Returns the name that the story has for somebody; the player's for what everybody calls the player."""
        known = (self._state.player, *self._state.characters, *self._new["person"])
        found = self._find_known("person", name, known)
        if not found and find_spelling(reduce_name(name), PLAYER) in PLAYER:
            return self._state.player
        if not found:
            likely = {one for one in known if compare_people(name, one) == "same"}
            likely = {one for one in likely if not self._has_other_title(name, one, known)}
            found = self._note("person", name, likely.pop()) if len(likely) == 1 else ""
        return found or self._add("person", name)

    def resolve_place(self, name: str) -> str:
        """Returns the name that the story has for a place."""
        people = self._state.characters.values()
        known = tuple(
            dict.fromkeys(
                (*self._state.locations, *(one.location for one in people if one.location), *self._new["place"])
            )
        )
        found = self._find_known("place", name, known)
        if not found:
            whole, base = reduce_name(name), reduce_name(without_remark(name))
            same = [one for one in known if reduce_name(without_remark(one)) == base]
            alike = {one for one in same if base in (reduce_name(one), whole)}
            found = self._note("place", name, alike.pop()) if len(alike) == 1 else ""
        return found or self._add("place", name)

    def is_said(self, name: str) -> bool:
        """Returns whether the turn's text says a name; a turn without text says all."""
        return not self._text.strip() or is_said(name, self._text)

    def _find_known(self, kind: AliasKind, name: str, known: Collection[str]) -> str:
        """Returns the known name by exact rules: its spelling, what was decided before, the lorebook's keys."""
        if (alias := self.aliases.get((kind, reduce_name(name)))) is not None:
            return alias.of
        decided = self._state.find_alias(kind, name)
        if decided or name in known:
            return decided or name
        found = find_spelling(name, known)
        if found not in known:
            found = straighten(name, self._text, known)
        if found in known:
            return found
        written = find_spelling(name, [one.name for of_kind, one in self._aliases() if of_kind == kind])
        if decided := self._state.find_alias(kind, written):
            return decided
        called = self._book.find_called(name)
        likely = {one for one in known if reduce_name(one) in called}
        return self._note(kind, name, likely.pop()) if len(likely) == 1 else ""

    def _has_other_title(self, name: str, one: str, known: Collection[str]) -> bool:
        """Returns whether somebody is called by another title already: who knows «Stark» as «Lord Stark» does not take
        «Lady Stark» for the same."""
        titled = (*known, *(alias.name for kind, alias in self._aliases() if kind == "person"))
        return any(have_different_titles(name, by) for by in titled if compare_people(by, one) == "same")

    def _aliases(self) -> list[tuple[AliasKind, Alias]]:
        return [(kind, one) for (kind, _), one in {**self._state.aliases, **self.aliases}.items()]

    def _note(self, kind: AliasKind, name: str, of: str) -> str:
        self.aliases[kind, reduce_name(name)] = Alias(kind, name, of)
        return of

    def _add(self, kind: AliasKind, name: str) -> str:
        name = straighten(name, self._text)
        self._new[kind].append(name)
        return name


__all__ = ["PLAYER", "NameResolver"]
