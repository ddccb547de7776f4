"""Where the player is, and what has become of places."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from world.block import value
from world.block.effect.draft import ChangesDraft
from world.block.field import Field
from world.block.value import ValueRefusal


def move_player(draft: ChangesDraft, given: Any, others: Mapping[Field, Any]) -> None:
    """Moves the player, and whoever travels along. Raises ``ValueRefusal`` where the block says that nobody moved."""
    here = draft.me.location
    there = draft.names.resolve_place(value.read_name_value(given))
    if there == here:
        return
    if here and "location_moved" in others and not _is_true(others["location_moved"]):
        raise ValueRefusal("did_not_move", here=here, there=there)
    for name in (draft.before.player, *draft.companions()):
        draft.change_character(name, location=there)
    draft.names.here = there
    draft.locations[there] = draft.place(there)
    if here:
        draft.deeds.moved = True
        _join_places(draft, here, there)


def _join_places(draft: ChangesDraft, one: str, other: str) -> None:
    """Notes that one can go from one place to the other, and back."""
    for name, way in ((one, other), (other, one)):
        known = draft.place(name)
        if way not in known.adjacent:
            draft.locations[name] = replace(known, adjacent=(*known.adjacent, way))


def check_moved(draft: ChangesDraft, given: Any, _: Mapping[Field, Any]) -> None:
    """Checks that the word on a move can be read."""
    value.read_truth_value(given)


def set_place_status(draft: ChangesDraft, given: Any, _: Mapping[Field, Any]) -> None:
    """Sets what has become of places; a text without a name is about the player's place."""
    here = draft.me.location
    told = given.items() if isinstance(given, Mapping) else [(here, given)] if here else []
    for name, text in list(told)[: value.MOST_ENTRIES]:
        place = draft.place(draft.names.resolve_place(value.read_name_value(name)))
        word = "" if value.is_nothing(text) else value.read_name_value(text)
        if place.status != word:
            draft.locations[place.name] = replace(place, status=word)
            draft.deeds.places.append(place.name)


def _is_true(given: Any) -> bool:
    """Returns what a value says; one that says nothing counts as true."""
    try:
        return value.read_truth_value(given)
    except ValueRefusal:
        return True
