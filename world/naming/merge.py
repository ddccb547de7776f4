"""What the user says about names: two are one, one is two after all, or they stay apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import combinations
from typing import Any

from store.world.change import build_plain_changes, changes_of, merge_changes, take_back
from store.world.record import ALIVE, Alias, AliasKind, Changes, Character, Location, Relation
from world.naming.person import compare_people, cut_given_name, is_role_only, parse_person
from world.naming.resolve import PLAYER
from world.naming.spelling import reduce_name, without_remark, words_of
from world.story.state import StoryState

MOST = 20
"""The most questions that are asked at once."""


def merge_names(state: StoryState, kind: AliasKind, name: str, into: str) -> Changes:
    """Returns the changes that make one person or place of two. What is known of both goes to ``into``; the rows that
    are lost are kept with the alias, so that the two can be split again."""
    return _merge_people(state, name, into) if kind == "person" else _merge_places(state, name, into)


def split_names(state: StoryState, kind: AliasKind, name: str) -> Changes:
    """Returns the changes that make somebody, or a place, of its own of a further name again. What else the merging
    changed is as it was before, where nothing has changed it since."""
    alias = state.aliases.get((kind, reduce_name(name)))
    was = alias.was if alias is not None and alias.was else {}
    gone = changes_of(was)
    if not was:
        gone = Changes(locations=(Location(name),)) if kind == "place" else Changes((Character(name),))
    before, after = (changes_of(was.get(part) or {}) for part in ("before", "after"))
    apart = (Alias(kind, name, name), *((_mark_apart(kind, name, alias.of),) if alias is not None else ()))
    return replace(merge_changes(take_back(before, after, state.changes()), gone), aliases=apart)


def keep_names_apart(kind: AliasKind, one: str, other: str) -> Changes:
    """Returns the changes by which two names are not asked about again; each may still be one with a third."""
    return Changes(aliases=(_mark_apart(kind, one, other),))


def _mark_apart(kind: AliasKind, one: str, other: str) -> Alias:
    """Returns the row that says of two names that they are two: it stands among the aliases and names nobody."""
    pair = " ≠ ".join(sorted((one, other), key=_order_name))
    return Alias(kind, pair, pair)


def _order_name(name: str) -> tuple[int, str]:
    return len(words_of(name)), name


def find_unclear(state: StoryState, kind: AliasKind) -> list[tuple[str, str]]:
    """Returns the pairs of names that may be one, the one with fewer words first."""
    names = state.characters if kind == "person" else state.locations
    players = _find_player_pairs(state) if kind == "person" else ()
    pairs = dict.fromkeys((*players, *_find_unclear_pairs(kind, names)))
    return [pair for pair in pairs if (kind, reduce_name(_mark_apart(kind, *pair).name)) not in state.aliases][:MOST]


def _find_player_pairs(state: StoryState) -> Iterator[tuple[str, str]]:
    """Yields the player whom nobody has named yet with those who may be he: somebody here feels something for one whom
    the story has never placed."""
    if reduce_name(state.player) not in PLAYER:
        return
    here = state.me.location
    near = {one.name for one in state.characters.values() if one.companion or (here and one.location == here)}
    felt = {row.to_char for row in state.relations.values() if row.from_char in near}
    for one in state.characters.values():
        unplaced = one.name in felt and not one.location and not one.dead
        if unplaced and one.name != state.player and not is_role_only(one.name):
            yield state.player, one.name


def _find_unclear_pairs(kind: AliasKind, names: Iterable[str]) -> Iterator[tuple[str, str]]:
    by_word: dict[str, list[str]] = {}
    for name in names:
        words = words_of(name)
        for word in {*words[:1], *words[-1:], *map(cut_given_name, words[:1]), *parse_person(name).role[-1:]}:
            by_word.setdefault(word, []).append(name)
    seen = set[tuple[str, str]]()
    for some in by_word.values():
        for pair in combinations(sorted(some, key=_order_name), 2):
            if pair not in seen and _may_be_one(kind, *pair):
                seen.add(pair)
                yield pair


def _may_be_one(kind: AliasKind, short: str, long: str) -> bool:
    """Returns whether two names may be one. Of places, the shorter name ends the longer one: «the mill», «the old
    mill»; or they differ in what stands in brackets."""
    if kind == "person":
        return compare_people(short, long) != "other"
    a, b = words_of(short), words_of(long)
    remark = without_remark(short) != short and without_remark(long) != long
    return (len(a) < len(b) and b[-len(a) :] == a) or (a == b and not remark)


def _merge_people(state: StoryState, name: str, into: str) -> Changes:
    one = state.characters.get(name) or Character(name)
    two = state.me if into == state.player else state.characters.get(into) or Character(into)
    lost = {pair: row for pair, row in state.relations.items() if name in pair}
    both = replace(
        two,
        location=two.location or one.location,
        hp=one.hp if two.hp is None else two.hp,
        status=one.status if two.status == ALIVE else two.status,
        companion=(one.companion or two.companion) and into != state.player,
    )
    both = replace(both, companion=both.companion and not both.dead)
    relations: dict[tuple[str, str], Relation] = {}
    for pair, row in lost.items():
        first, second = (into if end == name else end for end in pair)
        if first != second:
            known = relations.get((first, second)) or state.relations.get((first, second))
            strength = row.strength + (known.strength if known else 0)
            kind = known.rel_type if known and known.rel_type else row.rel_type
            relations[first, second] = Relation(first, second, kind, strength)
    new = Changes((both,), tuple(relations.values()))
    # a relation that came with the merging was none before
    old = (state.relations.get(pair) or replace(row, strength=0) for pair, row in relations.items())
    was = _keep_rows(Changes((one,), tuple(lost.values())), Changes((two,), tuple(old)), new)
    return replace(new, aliases=(Alias("person", name, into, was),))


def _merge_places(state: StoryState, name: str, into: str) -> Changes:
    one, two = (state.locations.get(place) or Location(place) for place in (name, into))
    there = tuple(row for row in state.characters.values() if row.location == name)
    people = tuple(replace(row, location=into) for row in there)
    ways = tuple(way for way in dict.fromkeys((*two.adjacent, *one.adjacent)) if way not in (name, into))
    both = replace(two, description=two.description or one.description, adjacent=ways, status=two.status or one.status)
    others = [row for row in state.locations.values() if name in row.adjacent and row.name not in (name, into)]
    moved = [replace(row, adjacent=_replace_way(row.adjacent, name, into)) for row in others]
    new = Changes(people, locations=(both, *moved))
    was = _keep_rows(Changes(locations=(one,)), Changes(there, locations=(two, *others)), new)
    return replace(new, aliases=(Alias("place", name, into, was),))


def _keep_rows(gone: Changes, before: Changes, after: Changes) -> dict[str, Any]:
    """Returns what a split needs: the rows that go, and the rows that a merging changes before and after it."""
    return {**build_plain_changes(gone), "before": build_plain_changes(before), "after": build_plain_changes(after)}


def _replace_way(ways: tuple[str, ...], name: str, into: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(into if way == name else way for way in ways))


__all__ = ["find_unclear", "keep_names_apart", "merge_names", "split_names"]
