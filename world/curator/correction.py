"""A row of the tables as the curator corrects it: the rows before and after, checked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

from store.world.record import DEAD, HELD, LOST, Changes, Character, LeftOutName, PlayerItem
from text.clean import clean_text, collapse_spaces
from world.block.count import MOST_COUNT
from world.block.time import read_story_time
from world.block.value import MOST_HP, NAME_CHARS, WORD_CHARS
from world.curator.notebook import Unfit
from world.naming.spelling import find_spelling
from world.story.state import StoryState

CorrectedField = Literal["location", "hp", "status", "companion", "count", "strength", "type", "time"]


def correct_row(
    state: StoryState, name: str, field: CorrectedField, value: str, other: str = ""
) -> tuple[Changes, Changes]:
    """Returns the row of a person, thing, place or relation as it is, and as it is to be. ``other``: whom a relation is
    to. Raises ``Unfit`` for a name or value that does not fit."""
    if field in ("strength", "type"):
        return _correct_relation(state, name, other, field, value)
    if field == "time":
        return Changes(times=(state.time,)), Changes(times=(read_story_time(_check_text(value, NAME_CHARS)),))
    known: tuple[str, ...] = (*state.characters, *state.items, *state.locations)
    name = _known_name(name, known)
    if name in state.characters and field != "count":
        person = state.characters[name]
        return Changes((person,)), Changes((_correct_person(state, person, field, value),))
    if name in state.items and field in ("count", "status"):
        thing = state.items[name]
        return Changes(items=(thing,)), Changes(items=(_correct_thing(thing, field, value),))
    if name in state.locations and field == "status":
        place = state.locations[name]
        return Changes(locations=(place,)), Changes(locations=(replace(place, status=_check_text(value, NAME_CHARS)),))
    raise Unfit(f"{name!r} has no {field}.")


def leave_names_out(state: StoryState, names: Iterable[str]) -> tuple[Changes, Changes]:
    """Returns the changes that leave names out of live_state.md, and those before. Raises ``Unfit`` for unknown ones
    and for what is in play now."""
    here = state.me.location
    known = (*state.characters, *state.items, *state.locations)
    found = [_known_name(name, known) for name in names]
    for name in found:
        person, thing = state.characters.get(name), state.items.get(name)
        near = person is not None and not person.dead and here and person.location == here
        if name in (state.player, here) or near or (thing is not None and thing.status == HELD):
            raise Unfit(f"{name!r} is in play now and stays.")
    before = tuple(LeftOutName(name, state.is_left_out(name)) for name in found)
    return Changes(left_out=before), Changes(left_out=tuple(map(LeftOutName, found)))


def _known_name(name: str, known: Iterable[str]) -> str:
    names = list(known)
    found = find_spelling(name, names)
    if found not in names:
        raise Unfit(f"The tables have no {name!r}. Read them with read_state.")
    return found


def _correct_person(state: StoryState, one: Character, field: CorrectedField, value: str) -> Character:
    if field == "hp":
        return replace(one, hp=_check_number(value, 0, MOST_HP))
    if field == "companion":
        along = value.strip().casefold() in ("true", "yes")
        if along and (one.dead or one.name == state.player):
            raise Unfit(f"{one.name!r} is dead or the player, and travels along with nobody.")
        return replace(one, companion=along, location=state.me.location if along else one.location)
    if field == "location":
        there = find_spelling(_check_text(value, NAME_CHARS), state.locations)
        return replace(one, location=there, companion=one.companion and there == state.me.location)
    status = _check_text(value, WORD_CHARS)
    return replace(one, status=status, sightings=0, companion=one.companion and status != DEAD)


def _correct_thing(one: PlayerItem, field: CorrectedField, value: str) -> PlayerItem:
    if field == "count":
        count = _check_number(value, 0, MOST_COUNT)
        return replace(one, count=count, status=HELD) if count else replace(one, status=LOST, count=1)
    if value not in (HELD, LOST):
        raise Unfit(f"The status of a thing is {HELD!r} or {LOST!r}.")
    return replace(one, status=value)


def _correct_relation(
    state: StoryState, name: str, other: str, field: CorrectedField, value: str
) -> tuple[Changes, Changes]:
    pair = (_known_name(name, state.characters), _known_name(other, state.characters))
    row = state.relations.get(pair)
    if row is None:
        raise Unfit(f"The tables have no relation of {pair[0]!r} to {pair[1]!r}.")
    new = replace(row, strength=_check_number(value, -1000, 1000)) if field == "strength" else row
    new = replace(new, rel_type=_check_text(value, WORD_CHARS)) if field == "type" else new
    return Changes(relations=(row,)), Changes(relations=(new,))


def _check_text(text: str, longest: int) -> str:
    plain = collapse_spaces(clean_text(text))
    if not plain or len(plain) > longest:
        raise Unfit(f"The value has {len(plain)} characters; 1 to {longest} are allowed.")
    return plain


def _check_number(text: str, least: int, most: int) -> int:
    try:
        number = int(text.strip())
    except ValueError:
        raise Unfit(f"{text!r} is no whole number.") from None
    if not least <= number <= most:
        raise Unfit(f"{number} is not between {least} and {most}.")
    return number
