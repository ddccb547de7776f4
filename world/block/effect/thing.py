"""What the player has, and the player's hit points."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from store.world.record import HELD, LOST, PlayerItem
from world.block import value
from world.block.count import read_thing_counts
from world.block.effect.draft import ChangesDraft
from world.block.field import Field
from world.block.value import ValueRefusal
from world.naming.thing import find_thing_name, is_thing_named
from world.story.state import FULL_HP


def change_hp(draft: ChangesDraft, given: Any, _: Mapping[Field, Any]) -> None:
    """Adds to the player's hit points, or takes from them."""
    change = value.read_whole_number(given, value.MOST_HP_CHANGE)
    now = FULL_HP if draft.me.hp is None else draft.me.hp
    if change:
        draft.change_character(draft.before.player, hp=min(max(now + change, 0), value.MOST_HP))
        draft.deeds.hp += change


def gain_things(draft: ChangesDraft, given: Any, others: Mapping[Field, Any]) -> None:
    """Gives things to the player, and takes those of them that the same turn uses up."""
    for name, count in read_thing_counts(given):
        known = _find_thing(draft, name)
        name = known.name if known is not None else name
        if known is None or known.status != HELD:
            draft.items[name] = PlayerItem(name, HELD, count or 1)
            draft.deeds.gained.append(name)
        elif count is not None or known.count > 1:  # a thing that is only named again is no second one
            draft.items[name] = replace(known, count=known.count + (count or 1))
            draft.deeds.gained.append(name)
        else:
            draft.used.add(name)
    for name, count in draft.taken_last:
        _take_thing(draft, name, count)


def lose_things(draft: ChangesDraft, given: Any, others: Mapping[Field, Any]) -> None:
    """Takes things from the player. What the same turn gives is taken behind that, where it was not there before or is
    counted; else what is dropped and taken up again would be gone."""
    gained = _read_gained_counts(others)

    def lose(given: tuple[str, int | None]) -> None:
        name, count = given
        known = _find_thing(draft, name)
        again = find_thing_name(name, gained)
        held = known is not None and known.status == HELD
        if again in gained and (not held or (count is not None and gained[again] is not None)):
            draft.taken_last.append((name, count))
        else:
            _take_thing(draft, name, count)

    draft.take_each("items_lost", read_thing_counts(given), lose)


def _read_gained_counts(fields: Mapping[Field, Any]) -> dict[str, int | None]:
    """Returns what a block gives to the player; nothing where it cannot be read."""
    try:
        return dict(read_thing_counts(fields.get("items_gained") or []))
    except ValueRefusal:
        return {}


def _take_thing(draft: ChangesDraft, name: str, count: int | None) -> None:
    """Takes some of a thing, or all. Raises ``ValueRefusal`` where the player has none."""
    known = _find_thing(draft, name)
    if known is None or known.status != HELD:
        raise ValueRefusal("not_held", name=name)
    left = known.count - (count or 1)
    draft.items[known.name] = replace(known, count=left) if left > 0 else PlayerItem(known.name, LOST)
    draft.deeds.lost.append(known.name)


def use_things(draft: ChangesDraft, given: Any, _: Mapping[Field, Any]) -> None:
    """Notes what the player has used; nothing of it is gone by that."""
    for name, _count in read_thing_counts(given):
        if (known := _find_thing(draft, name)) is not None and known.status == HELD:
            draft.used.add(known.name)


def use_named_things(draft: ChangesDraft, text: str) -> None:
    """Notes which of the player's things a turn names."""
    held = [name for name, one in draft.before.items.items() if one.status == HELD and name not in draft.items]
    draft.used.update(name for name in held if is_thing_named(name, text))


def _find_thing(draft: ChangesDraft, name: str) -> PlayerItem | None:
    """Returns a thing that the story knows under this name."""
    name = find_thing_name(name, (*draft.before.items, *draft.items))
    return draft.items.get(name) or draft.before.items.get(name)
