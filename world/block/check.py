"""Checks what a state block says against the state of the story, and works out what changes (specification 12.7).

Every field is checked by itself: sound ones count, the others are refused with a sentence. A block that is mostly wrong
changes nothing. Texts and places of lorebook entries follow by code (``world.block.lore``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from store.world.record import DEAD, HELD, LOST, Changes, Character, Item, Location, Relation
from text.language import Language
from world.block import value
from world.block.episode import Deeds, episode
from world.block.field import FIELDS, Field
from world.block.lore import marks
from world.block.refusal import sentence
from world.block.spelling import bare, spelled
from world.block.template import is_template
from world.block.value import Refused, RelationChange
from world.lore.lorebook import Lorebook
from world.state import FULL_HP, State

PLAYER = frozenset(map(bare, ("player", "you", "user", "{{user}}", "주인공", "당신", "플레이어", "유저")))
"""What models call the player whatever his name is."""
MOST_STRENGTH = 1_000
SHARE = 0.5
"""The share of a block's fields above which refusals make the whole block worthless."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What a block comes to. ``refusals``: why fields were not taken; ``fields``: the fields as they were written, as
    plain data for the record; ``absurd``: nothing of the block counts."""

    changes: Changes
    refusals: tuple[str, ...]
    fields: dict[str, Any]
    absurd: bool = False


def check(
    fields: Mapping[Field, Any], state: State, book: Lorebook, turn: int, text: str, language: Language
) -> Checked:
    """Returns the changes that a block leads to. ``state``: before the turn; ``turn``: its number; ``text``: question
    and answer as the reader sees them, for the lorebook entries that they mention; ``language``: the world's."""
    draft = _Draft(state, language, text)
    given = {name: fields[name] for name in FIELDS if name in fields and _says(name, fields[name])}
    absurd = not draft.take(given)
    if absurd:
        draft = _Draft(state, language, text, refusals=[sentence("", "absurd", language)])
    after = draft.state(turn)
    lore, happened = (
        marks(book, after, draft.touched(), text, turn, language),
        episode(draft.deeds, after, turn, language),
    )
    changes = replace(draft.changes(), lore=lore, episode=happened)
    return Checked(changes, tuple(draft.refusals), _record(given), absurd)


def _says(name: Field, given: Any) -> bool:
    return not value.is_nothing(given) and not is_template(name, given)


def nothing(state: State, book: Lorebook, turn: int, text: str, language: Language) -> Changes:
    """Returns the changes of a turn without a block: what it mentions, and that it happened."""
    return check({}, state, book, turn, text, language).changes


@dataclass
class _Draft:
    """The changes of one turn while they are gathered."""

    before: State
    language: Language
    text: str = ""
    characters: dict[str, Character] = field(default_factory=dict)
    relations: dict[tuple[str, str], Relation] = field(default_factory=dict)
    locations: dict[str, Location] = field(default_factory=dict)
    items: dict[str, Item] = field(default_factory=dict)
    mood: str | None = None
    deeds: Deeds = field(default_factory=Deeds)
    refusals: list[str] = field(default_factory=list)

    def take(self, given: Mapping[Field, Any]) -> bool:
        """Takes the fields; returns False when the block as a whole is worthless."""
        refused = 0
        for name in _ORDER:
            if name not in given:
                continue
            try:
                _TAKE[name](self, given[name], given)
            except Refused as error:
                if error.code == "too_many":
                    return False
                self._refuse(name, error)
                refused += 1
        return len(given) < 2 or refused <= SHARE * len(given)

    def state(self, turn: int) -> State:
        """Returns the state after the turn, without its episode."""
        return self.before.after(self.changes(), turn)

    def changes(self) -> Changes:
        """Returns what was gathered, without lorebook and episode."""
        return Changes(
            tuple(self.characters.values()),
            tuple(self.relations.values()),
            tuple(self.locations.values()),
            tuple(self.items.values()),
            mood=self.mood,
        )

    def touched(self) -> set[str]:
        """Returns the names that the turn changed something about."""
        return {*self.characters, *self.items, *self.locations}

    def _refuse(self, name: str, error: Refused) -> None:
        self.refusals.append(sentence(name, error.code, self.language, **error.values))

    def _each(self, name: Field, entries: list[Any], take: Callable[[Any], None]) -> None:
        """Takes the entries of a list one by one. Raises ``Refused`` when none of them was sound."""
        refused: list[Refused] = []
        for entry in entries:
            try:
                take(entry)
            except Refused as error:
                refused.append(error)
        none = bool(refused) and len(refused) == len(entries)
        for one in refused[:-1] if none else refused:
            self._refuse(name, one)
        if none:
            raise refused[-1]

    # --- the fields -----------------------------------------------------------------------------

    @property
    def me(self) -> Character:
        return self.characters.get(self.before.player) or self.before.me

    def character(self, name: str) -> Character:
        """Returns a character as it is now; a new one when nobody has that name."""
        known = self.characters.get(name) or self.before.characters.get(name)
        return known or (self.me if name == self.before.player else Character(name))

    def _person(self, name: str) -> str:
        """Returns a character's name as the story has it; the player's for what everybody calls the player."""
        known = (self.before.player, *self.before.characters, *self.characters)
        name = spelled(name, known)
        return self.before.player if name not in known and bare(name) in PLAYER else name

    def _is_known(self, name: str) -> bool:
        """Returns whether the story or the text of the turn knows somebody of this name: else the model made him
        up, or copied him from the instruction."""
        known = (self.before.player, *self.before.characters, *self.characters)
        told = [self.text, *known]
        return name in known or not self.text.strip() or any(bare(name) in bare(one) for one in told)

    def place(self, name: str) -> Location:
        """Returns a place as it is now; a new one when none has that name."""
        return self.locations.get(name) or self.before.locations.get(name) or Location(name)

    def location(self, given: Any, others: Mapping[Field, Any]) -> None:
        here = self.me.location
        there = spelled(value.name(given), (here, *self.before.locations))
        if there == here:
            return
        if here and "location_moved" in others and not _truth(others["location_moved"]):
            raise Refused("did_not_move", here=here, there=there)
        self.characters[self.before.player] = replace(self.me, location=there)
        self.locations[there] = self.place(there)
        if here:
            self.deeds.moved = True
            self._join(here, there)

    def _join(self, one: str, other: str) -> None:
        """Notes that one can go from one place to the other, and back."""
        for name, way in ((one, other), (other, one)):
            known = self.place(name)
            if way not in known.adjacent:
                self.locations[name] = replace(known, adjacent=(*known.adjacent, way))

    def moved(self, given: Any, _: Mapping[Field, Any]) -> None:
        value.truth(given)

    def hp(self, given: Any, _: Mapping[Field, Any]) -> None:
        change = value.number(given, value.MOST_HP_CHANGE)
        now = FULL_HP if self.me.hp is None else self.me.hp
        if change:
            hp = min(max(now + change, 0), value.MOST_HP)
            self.characters[self.before.player] = replace(self.me, hp=hp)
            self.deeds.hp += change

    def gained(self, given: Any, _: Mapping[Field, Any]) -> None:
        for name, count in value.things(given):
            known = self._thing(name)
            name = known.name if known is not None else name
            if known is None or known.status != HELD:
                self.items[name] = Item(name, HELD, count or 1)
                self.deeds.gained.append(name)
            elif count is not None or known.count > 1:  # a thing that is only named again is no second one
                self.items[name] = replace(known, count=known.count + (count or 1))
                self.deeds.gained.append(name)

    def _thing(self, name: str) -> Item | None:
        """Returns a thing that the story knows under this name, or under its singular."""
        known = (*self.before.items, *self.items)
        found = next((one for one in (name, name.removesuffix("s"), f"{name}s") if spelled(one, known) in known), name)
        name = spelled(found, known)
        return self.items.get(name) or self.before.items.get(name)

    def lost(self, given: Any, _: Mapping[Field, Any]) -> None:
        def lose(given: tuple[str, int | None]) -> None:
            name, count = given
            known = self._thing(name)
            if known is None or known.status != HELD:
                raise Refused("not_held", name=name)
            left = known.count - (count or 1)
            self.items[known.name] = replace(known, count=left) if left > 0 else Item(known.name, LOST)
            self.deeds.lost.append(known.name)

        self._each("items_lost", value.things(given), lose)

    def met(self, given: Any, _: Mapping[Field, Any]) -> None:
        def meet(name: str) -> None:
            name = self._person(name)
            if name == self.before.player:
                return
            known, new = self.character(name), name not in self.before.characters
            if known.dead:
                raise Refused("dead", name=name)
            self.characters[name] = replace(known, location=self.me.location or known.location)
            self.deeds.met.append(name)
            self.deeds.first_met = self.deeds.first_met or new

        self._each("npc_met", value.names(given), meet)

    def died(self, given: Any, _: Mapping[Field, Any]) -> None:
        for name in map(self._person, value.names(given)):
            known = self.character(name)
            if not known.dead:
                self.characters[name] = replace(known, hp=0, status=DEAD)
                self.deeds.died.append(name)

    def related(self, given: Any, _: Mapping[Field, Any]) -> None:
        entries = [given] if isinstance(given, Mapping) else given if isinstance(given, list) else [given]
        if len(entries) > value.MOST_ENTRIES:
            raise Refused("too_many", limit=value.MOST_ENTRIES)
        self._each("relationship_changes", entries, lambda entry: self._relate(value.relation(entry)))

    def _relate(self, change: RelationChange) -> None:
        pair = (self._person(change.from_char), self._person(change.to_char))
        for name in pair:
            if not self._is_known(name):
                raise Refused("not_said", name=name)
        if pair[0] == pair[1]:
            raise Refused("not_relation")
        if (self.before.characters.get(pair[0]) or Character("")).dead:
            raise Refused("dead", name=pair[0])
        known = self.relations.get(pair) or self.before.relations.get(pair)
        strength = (known.strength if known else 0) + change.delta
        kind = change.rel_type or (known.rel_type if known else "")
        self.relations[pair] = Relation(*pair, kind, min(max(strength, -MOST_STRENGTH), MOST_STRENGTH))
        self.deeds.related.append((*pair, kind, change.delta))
        for name in pair:
            if name not in self.before.characters and name not in self.characters:
                self.characters[name] = self.character(name)

    def status(self, given: Any, _: Mapping[Field, Any]) -> None:
        here = self.me.location
        told = given.items() if isinstance(given, Mapping) else [(here, given)] if here else []
        for name, text in list(told)[: value.MOST_ENTRIES]:
            place = self.place(value.name(name))
            word = "" if value.is_nothing(text) else value.name(text)
            if place.status != word:
                self.locations[place.name] = replace(place, status=word)
                self.deeds.places.append(place.name)

    def feel(self, given: Any, _: Mapping[Field, Any]) -> None:
        self.mood = value.name(given, value.WORD_CHARS)


_TAKE: dict[Field, Callable[[_Draft, Any, Mapping[Field, Any]], None]] = {
    "location": _Draft.location,
    "location_moved": _Draft.moved,
    "hp_change": _Draft.hp,
    "npc_died": _Draft.died,
    "npc_met": _Draft.met,
    "items_lost": _Draft.lost,
    "items_gained": _Draft.gained,
    "relationship_changes": _Draft.related,
    "location_status": _Draft.status,
    "mood": _Draft.feel,
}
_ORDER: tuple[Field, ...] = (
    "location",
    "location_moved",
    "hp_change",
    "npc_met",
    "npc_died",
    "items_lost",
    "items_gained",
    "relationship_changes",
    "location_status",
    "mood",
)
"""Whoever is met and dies in the same turn is met first; what is dropped and taken up again is held at the end."""


def _record(given: Mapping[Field, Any]) -> dict[str, Any]:
    """Returns the fields as JSON data: YAML also knows dates and sets."""
    plain: dict[str, Any] = json.loads(json.dumps(given, default=str, ensure_ascii=False))
    return plain


def _truth(given: Any) -> bool:
    """Returns what a value says; one that says nothing counts as true."""
    try:
        return value.truth(given)
    except Refused:
        return True
