"""Whom and which place a name in a state block means: one of the story's own names, or a new one."""

from __future__ import annotations

from collections.abc import Collection

from store.world.record import Alias, AliasKind
from world.lore.lorebook import Lorebook
from world.naming.person import (
    Likeness,
    are_two,
    compare_people,
    is_cut_name,
    is_introduced,
    is_office,
    is_role_only,
    is_said,
)
from world.naming.spelling import find_remark, find_spelling, reduce_name, straighten_name, without_remark
from world.story.state import StoryState

PLAYER = frozenset(
    map(
        reduce_name,
        (
            *("player", "player character", "you", "yourself", "user", "{{user}}", "<user>", "protagonist"),
            *("me", "I", "myself", "주인공", "당신", "너", "플레이어", "유저", "사용자", "나", "저", "나 자신"),
        ),
    )
)
"""What models and players call the player whatever his name is."""


class NameResolver:
    """Resolves the names of one turn. ``text``: question and answer. ``aliases``: what it has found out, for the
    record: names that are one person or place by the lorebook or by their words. ``here``: where the player is now."""

    def __init__(self, state: StoryState, book: Lorebook, text: str) -> None:
        self._state, self._book, self._text = state, book, text
        self._new: dict[AliasKind, list[str]] = {"person": [], "place": []}
        self.aliases: dict[tuple[AliasKind, str], Alias] = {}
        self.here = state.me.location

    def resolve_person(self, name: str) -> str:
        """Returns the name that the story has for somebody; the player's for what everybody calls the player."""
        known = (self._state.player, *self._state.characters, *self._new["person"])
        found = self._find_known("person", name, known)
        if not found and find_spelling(reduce_name(name), PLAYER) in PLAYER:
            return self._state.player
        if not found and (remark := find_remark(name)) and reduce_name(remark) in PLAYER:  # «민수 (player)»
            return self._note("person", without_remark(name), self._state.player)
        if not found and (likely := self._find_likely(name, known)):
            found = self._note("person", name, likely)
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
            found = straighten_name(name, self._text, known)
        if found in known:
            return found
        written = find_spelling(name, [one.name for of_kind, one in self._aliases() if of_kind == kind])
        if decided := self._state.find_alias(kind, written):
            return decided
        called = self._book.find_called(name)
        likely = {one for one in known if reduce_name(one) in called}
        return self._note(kind, name, likely.pop()) if len(likely) == 1 else ""

    def _find_likely(self, name: str, known: Collection[str]) -> str:
        """Returns the one known person whom a name means by its words; empty where none is, or it may be several."""
        further: dict[str, list[str]] = {}
        for kind, alias in self._aliases():
            if kind == "person":
                further.setdefault(alias.of, []).append(alias.name)
        found = {one: self._compare_person(name, (one, *further.get(one, ()))) for one in known}
        same = [one for one, likeness in found.items() if likeness == "same"]
        near = same or [one for one, likeness in found.items() if likeness != "other"]
        if len(near) != 1 or found[near[0]] == "unclear":
            return ""
        return near[0] if same or self._is_sole(name, near[0]) else ""

    def _compare_person(self, name: str, called: tuple[str, ...]) -> Likeness:
        """Returns whether a name means somebody with these names: who knows «Stark» as «Lord Stark» does not take «Lady
        Stark» for the same."""
        found = {compare_people(name, by) for by in called}
        if "same" not in found and "sole" not in found:
            return "unclear" if "unclear" in found else "other"
        if any(are_two(name, by) for by in called):
            return "unclear"
        return "same" if "same" in found else "sole"

    def _is_sole(self, name: str, one: str) -> bool:
        """Returns whether a first name, or what somebody is, means the only one known who is called so. A dead one's
        office may have passed on, and in another place there is another innkeeper, or somebody whose name only ends
        alike."""
        if is_introduced(name, self._text):
            return False
        if not is_role_only(name) and not is_cut_name(name, one):
            return True
        person = self._state.characters.get(one)
        if person is None:
            return True
        here = person.companion or (person.location == self.here and self.here != "")
        return not person.dead and (is_office(name) or here)

    def _aliases(self) -> list[tuple[AliasKind, Alias]]:
        return [(kind, one) for (kind, _), one in {**self._state.aliases, **self.aliases}.items()]

    def _note(self, kind: AliasKind, name: str, of: str) -> str:
        self.aliases[kind, reduce_name(name)] = Alias(kind, name, of)
        return of

    def _add(self, kind: AliasKind, name: str) -> str:
        name = straighten_name(name, self._text)
        self._new[kind].append(name)
        return name


__all__ = ["PLAYER", "NameResolver"]
