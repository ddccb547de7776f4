"""What a session leaves in its user's memory, and how it is taken back (the paper's setting: sessions S1, S2 … make
M1, M2 …).

A session's memory may take the place of the user's only where it was made from just that: this is decided by what both
hold (``State.mark``), since numbers come again after an undo, and mean something else on another machine. Otherwise the
session's turns are folded in, and its changes by hand are made there, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache, partial

from memory import fold
from memory.address import Client
from memory.archive import Archive
from memory.drop import rid
from memory.fold import Folded
from memory.key import Scope
from memory.line import equal, from_before, lines, parts, thinned
from memory.source import Source
from memory.state import Entity, State, Turn, Version, put, same_key
from memory.store import TRIES, Conflict, RedisStore
from memory.view import said_last
from model.token import estimate

Step = tuple[int, str]
"""A session's version and text after an undo."""
WAITING_CHARS = 1000
"""Of what waits in another session, how much is looked through for the first prompts of a new one."""
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
    for change in changes:
        old, new = parts(change.prior), parts(change.text)
        gone, come = [part for part in old if part not in new], [part for part in new if part not in old]
        text = _without_any(owner.text, gone)
        kept = parts(text)
        come = [part for part in come if not any(equal(part, other) for other in kept)]
        dropped = {(same_key(entity.key), entity.value) for entity in change.dropped}
        entities = (entity for entity in owner.entities if (same_key(entity.key), entity.value) not in dropped)
        owner = replace(owner, text="\n".join([*lines(text), *come]), entities=tuple(entities))
    return owner


def _without_any(text: str, gone: Sequence[str]) -> str:
    return thinned(text, lambda part: any(equal(part, other) for other in gone))


def with_values(entities: tuple[Entity, ...], session: State, turns: Sequence[Turn]) -> tuple[Entity, ...]:
    """The user's entities with those that the session has from these turns, where none holds the value yet."""
    numbers = {turn.number for turn in turns}
    for each in session.entities:
        if each.turn in numbers and not any(each.value == other.value for other in entities):
            entities = put(entities, each)
    return entities


def with_waiting(owner: State, session: State, versions: Sequence[Version], tag: str, room: int) -> State:
    """The user's memory, within ``room`` tokens, with what it has not taken over of a session yet: by code alone, for a
    new session that does not wait for a fold."""
    seen = taken(owner, session, tag)
    told = [turn for each in versions if seen < each.number <= session.version for turn in each.turns]
    turns = said_last([*told, *session.waiting], WAITING_CHARS)
    if not turns:
        return owner
    source = Source(from_before(owner.text), owner.entities, turns, owner.pins, session.forgotten)
    made = _by_code(source, room)
    return replace(owner, text=from_before(made.text), entities=with_values(made.entities, session, turns))


@lru_cache(maxsize=64)
def _by_code(source: Source, room: int) -> Folded:
    return fold.word_for_word(source, estimate, room)


def chain(client: Client, redis: RedisStore, archive: Archive, scope: Scope) -> tuple[State, list[Version]]:
    """The state with all its versions, oldest first, those that were undone aside."""
    state, newest = redis.read_all(client, scope)
    kept = {each.number: each for each in archive.versions(scope) if each.number <= state.version}
    kept |= {each.number: each for each in newest}
    return state, [kept[number] for number in sorted(kept)]


def take_back(
    client: Client, redis: RedisStore, scope: Scope, back: Callable[[State], State], steps: Sequence[Step] = ()
) -> State:
    """Undo a session's newest version, and the copy of it that the user's memory took over last; the session's state.

    Where another session has written there since, its text stays; what is said from here on is still taken over.
    ``steps``: where several versions are undone at once, what the session is after each.
    """
    state = redis.change(client, scope, back, undo=len(steps) or 1)
    if not state.user:
        return state
    owner = Scope(scope.tenant, "", state.user)
    for _ in range(TRIES):
        user, versions = redis.read_all(client, owner)
        if taken(user, state, scope.tag) <= state.version:
            return state  # not taken over yet
        new, gone, start = _without(user, versions, state, scope.tag, steps or [(state.version, state.text)])
        written = redis.change(client, owner, partial(_unless_changed, user, new), undo=gone, known=user)
        if (written.mark, written.carried) == (new.mark, new.carried):
            break
    else:
        raise Conflict(owner.tag)
    at = taken(new, state, scope.tag)
    return redis.change(client, scope, lambda now: replace(now, start=start, taken=at), known=state)


def _without(
    user: State, versions: Sequence[Version], session: State, tag: str, steps: Sequence[Step]
) -> tuple[State, int, str]:
    """The user's memory after these steps back of a session; how many of its versions go; the session's ``start``."""
    start, left = session.start, list(versions)
    for number, text in steps:
        if taken(user, session, tag) <= number:
            continue
        before = left[-2] if len(left) > 1 else Version(0, "", "undo", 0.0)
        if left and linear(user, replace(session, start=start)) and before.number == left[-1].number - 1:
            at = number if before.text == text else max(0, number - 1)
            user = _before(user, before, tag, at)
            start = user.mark
            left.pop()
        else:
            user = carried(user, tag, number)
    return user, len(versions) - len(left), start


def _unless_changed(seen: State, new: State, now: State) -> State:
    return new if now.revision == seen.revision else now


def _before(owner: State, before: Version, tag: str, at: int) -> State:
    """The user's memory as this version left it, without what was forgotten since."""
    back = replace(carried(owner, tag, at), text=before.text, version=before.number, entities=before.after)
    return rid(back, [what for what, _ in owner.forgotten], owner)
