"""What a session leaves in its user's memory, and how it is taken back (the paper's setting: sessions S1, S2 … make
M1, M2 …).

A session's memory may take the place of the user's only where it was made from just that: this is decided by what both
hold (``State.mark``), since numbers come again after an undo, and mean something else on another machine. Otherwise the
session's turns are folded in, and its changes by hand are made there, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial

from memory import recollect
from memory.address import Client
from memory.archive import Archive
from memory.key import Scope
from memory.line import equal
from memory.state import Entity, State, Turn, Version, put, same_key
from memory.store import RedisStore
from text import sentence

MOST_CARRIED = 200
"""Sessions that a user's memory knows the version of; older ones know it themselves (``State.taken``)."""


def taken(owner: State, session: State, tag: str) -> int:
    """The version of a session that the user's memory has taken over."""
    return dict(owner.carried).get(tag, session.taken)


def linear(owner: State, session: State) -> bool:
    """Whether the session's memory may take the place of the user's: nothing in there is missing from it."""
    return not owner.version or session.start == owner.mark


def carried(owner: State, tag: str, version: int) -> State:
    """A user's memory that has taken over this version of a session."""
    others = [each for each in owner.carried if each[0] != tag]
    return replace(owner, carried=(*others, (tag, version))[-MOST_CARRIED:])


def moved(state: State, before: str, after: str) -> State:
    """A session that goes on from the user's memory, where that was changed in the same way: it still does."""
    return replace(state, start=after) if state.start == before else state


def settled(state: State, session: State, owner: State) -> State:
    """The session, once the user's memory has taken it over as ``session``."""
    same = (session.text, session.entities) == (owner.text, owner.entities)
    return replace(state, start=owner.mark if same else state.start, taken=min(session.version, state.version))


def by_hand(owner: State, changes: Iterable[Version]) -> State:
    """The user's memory with a session's changes by hand: what they took out goes, what they brought in comes."""
    for each in changes:
        old, new = sentence.split(each.prior), sentence.split(each.text)
        gone, come = [line for line in old if line not in new], [line for line in new if line not in old]
        lines = [line for line in sentence.split(owner.text) if not any(equal(line, other) for other in gone)]
        lines += [line for line in come if not any(equal(line, other) for other in lines)]
        dropped = {(same_key(entity.key), entity.value) for entity in each.dropped}
        entities = (entity for entity in owner.entities if (same_key(entity.key), entity.value) not in dropped)
        owner = replace(owner, text="\n".join(lines), entities=tuple(entities))
    return owner


def with_values(entities: tuple[Entity, ...], session: State, turns: Sequence[Turn]) -> tuple[Entity, ...]:
    """The user's entities with those that the session has from these turns, where none holds the value yet."""
    numbers = {turn.number for turn in turns}
    for each in session.entities:
        if each.turn in numbers and not any(each.value == other.value for other in entities):
            entities = put(entities, each)
    return entities


def chain(client: Client, redis: RedisStore, archive: Archive, scope: Scope) -> tuple[State, list[Version]]:
    """The state with all its versions, oldest first, those that were undone aside."""
    state, newest = redis.read_all(client, scope)
    kept = {each.number: each for each in archive.versions(scope) if each.number <= state.version}
    kept |= {each.number: each for each in newest}
    return state, [kept[number] for number in sorted(kept)]


def take_back(client: Client, redis: RedisStore, scope: Scope, back: Callable[[State], State]) -> None:
    """Undo a session's newest version, and the copy of it that the user's memory took over last.

    Where another session has written there since, its text stays; what is said from here on is still taken over.
    """
    state = redis.change(client, scope, back, undo=1)
    owner = Scope(scope.tenant, "", state.user)
    if not state.user:
        return
    user, versions = redis.read_all(client, owner)
    if taken(user, state, scope.tag) <= state.version:
        return  # not taken over yet
    start = state.start
    before = versions[-2] if len(versions) > 1 else Version(0, "", "undo", 0.0)
    if versions and linear(user, state) and before.number == versions[-1].number - 1:
        at = state.version if before.text == state.text else max(0, state.version - 1)
        user = redis.change(client, owner, partial(_before, before=before, tag=scope.tag, at=at), undo=1)
        start = user.mark
    else:
        at = state.version
        redis.change(client, owner, partial(carried, tag=scope.tag, version=at))
    redis.change(client, scope, lambda now: replace(now, start=start, taken=at))


def _before(owner: State, before: Version, tag: str, at: int) -> State:
    """The user's memory as this version left it, without what was forgotten since."""
    back = replace(carried(owner, tag, at), text=before.text, version=before.number, entities=before.after)
    return recollect.rid(back, [what for what, _ in owner.forgotten])
