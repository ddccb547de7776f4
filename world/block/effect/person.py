"""Who is met, travels along, leaves, dies and comes back, and what people are to each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from store.world.record import ALIVE, DEAD, Relation
from world.block import value
from world.block.effect.draft import ChangesDraft
from world.block.field import Field
from world.block.value import RelationChange, ValueRefusal

MOST_STRENGTH = 1_000
SIGHTINGS = 2
"""How many turns must tell of a dead one as alive before that is believed."""


def revive_people(draft: ChangesDraft, given: Any, _: Mapping[Field, Any]) -> None:
    """Brings the dead back to life, at the player's place."""
    for name in map(draft.names.resolve_person, value.read_name_values(given)):
        if draft.character(name).dead:
            _revive_person(draft, name)
        draft.change_character(name, location=draft.me.location)
        draft.deeds.met.append(name)


def _revive_person(draft: ChangesDraft, name: str) -> None:
    hp = draft.character(name).hp
    draft.change_character(name, status=ALIVE, sightings=0, hp=hp or None)


def meet_people(draft: ChangesDraft, given: Any, _: Mapping[Field, Any]) -> None:
    """Has people be where the player is."""

    def meet(name: str) -> None:
        name = draft.names.resolve_person(name)
        if name == draft.before.player:
            return
        new = name not in draft.before.characters
        _check_alive(draft, name)
        known = draft.character(name)
        draft.characters[name] = replace(known, location=draft.me.location or known.location)
        draft.deeds.met.append(name)
        draft.deeds.first_met = draft.deeds.first_met or new

    draft.take_each("npc_met", value.read_name_values(given), meet)


def _check_alive(draft: ChangesDraft, name: str) -> None:
    """Counts how many turns have told of a dead one as alive; the second one is believed. Raises ``ValueRefusal``."""
    one, before = draft.character(name), draft.before.characters.get(name)
    if not one.dead or before is None:
        return
    if before.sightings + 1 >= SIGHTINGS:
        _revive_person(draft, name)
        return
    draft.change_character(name, sightings=before.sightings + 1)
    raise ValueRefusal("dead", name=name)


def kill_people(draft: ChangesDraft, given: Any, _: Mapping[Field, Any]) -> None:
    """Notes who has died; one of whom nobody had heard has died here."""
    for name in map(draft.names.resolve_person, value.read_name_values(given)):
        if not draft.character(name).dead:
            draft.change_character(name, hp=0, status=DEAD, companion=False, sightings=0)
            draft.deeds.died.append(name)


def set_companions(draft: ChangesDraft, given: Any, _: Mapping[Field, Any]) -> None:
    """Takes the list of everybody who travels along. Who is not in it any more stays where he is."""
    named = [] if value.is_nothing(given) else value.read_name_values(given)
    along = [name for name in map(draft.names.resolve_person, named) if name != draft.before.player]
    for name in draft.companions():
        if name not in along:
            draft.change_character(name, companion=False)

    def take_along(name: str) -> None:
        if not draft.is_known(name):
            raise ValueRefusal("not_said", name=name)
        _check_alive(draft, name)
        draft.deeds.first_met = draft.deeds.first_met or name not in draft.before.characters
        draft.change_character(name, companion=True, location=draft.me.location)

    draft.take_each("companions", along, take_along)


def join_companions(draft: ChangesDraft) -> None:
    """Has everybody who travels along be where the player is at the end of the turn."""
    for name in draft.companions():
        if draft.character(name).location != draft.me.location:
            draft.change_character(name, location=draft.me.location)


def part_people(draft: ChangesDraft, given: Any, others: Mapping[Field, Any]) -> None:
    """Has people leave the player: nobody knows where they are, unless the block says it. Whom the player has left
    behind by moving on stays there."""

    def part(entry: tuple[str, str]) -> None:
        name, place = draft.names.resolve_person(entry[0]), entry[1]
        if name == draft.before.player:
            return
        if not draft.is_known(name):
            raise ValueRefusal("not_said", name=name)
        one = draft.character(name)
        left_behind = draft.deeds.moved and not one.companion and one.location not in ("", draft.me.location)
        there = draft.names.resolve_place(place) if place else one.location if left_behind else ""
        draft.change_character(name, location=there, companion=False)
        draft.deeds.left.append(name)

    draft.take_each("npc_left", list(value.read_person_places(given).items()), part)


def place_people(draft: ChangesDraft, given: Any, _: Mapping[Field, Any]) -> None:
    """Notes where people are now; one who is elsewhere travels along no more."""
    if not isinstance(given, Mapping | list):
        raise ValueRefusal("not_place")

    def place(entry: tuple[str, str]) -> None:
        name, there = draft.names.resolve_person(entry[0]), draft.names.resolve_place(entry[1])
        if name == draft.before.player:
            return
        if not draft.is_known(name):
            raise ValueRefusal("not_said", name=name)
        along = draft.character(name).companion and there == draft.me.location
        draft.change_character(name, location=there, companion=along)

    draft.take_each("npc_location", [one for one in value.read_person_places(given).items() if one[1]], place)


def relate_people(draft: ChangesDraft, given: Any, _: Mapping[Field, Any]) -> None:
    """Changes what people are to each other."""
    entries = [given] if isinstance(given, Mapping) else given if isinstance(given, list) else [given]
    if len(entries) > value.MOST_ENTRIES:
        raise ValueRefusal("too_many", limit=value.MOST_ENTRIES)
    draft.take_each(
        "relationship_changes", entries, lambda entry: _relate_people(draft, value.read_relation_change(entry))
    )


def _relate_people(draft: ChangesDraft, change: RelationChange) -> None:
    one, other = (draft.names.resolve_person(name) for name in (change.from_char, change.to_char))
    for name in (one, other):
        if not draft.is_known(name):
            raise ValueRefusal("not_said", name=name)
    if one == other:
        raise ValueRefusal("not_relation")
    _check_alive(draft, one)
    known = draft.relations.get((one, other)) or draft.before.relations.get((one, other))
    strength = (known.strength if known else 0) + change.delta
    kind = change.rel_type or (known.rel_type if known else "")
    strength = min(max(strength, -MOST_STRENGTH), MOST_STRENGTH)
    draft.relations[one, other] = Relation(one, other, kind, strength)
    draft.deeds.related.append((one, other, kind, change.delta))
    for name in (one, other):
        if name not in draft.before.characters and name not in draft.characters:
            draft.characters[name] = draft.character(name)
