"""What a session leaves in its user's memory, and how to undo it (the paper's setting: sessions S1, S2 … make M1, M2
…).

A session's memory may replace the user's only if it started from exactly the user's memory. A digest of the content
(``State.mark``) decides this, since version numbers come again after an undo and mean something else on another
machine. Otherwise the session's turns are folded into the user's memory, and its changes by hand are repeated there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache, partial

from memory import fold
from memory.archive import Archive
from memory.change.drop import rid
from memory.fold import Folded
from memory.fold.fold_input import FoldInput
from memory.key import Scope
from memory.line import equal, from_before, lines, parts, thinned
from memory.redis.address import Client
from memory.redis.redis_store import TRIES, Conflict, RedisStore
from memory.state import Entity, MemoryTurn, State, Version, put, same_key
from memory.view import said_last
from model.call.token import estimate

Step = tuple[int, str]
"""A session's version and text after an undo."""
WAITING_CHARS = 1000
"""Characters of another session's waiting turns that are read for the first prompts of a new session."""
MOST_CARRIED = 200
"""Most sessions whose version a user's memory records; older sessions record it themselves (``State.taken``)."""


def taken(owner: State, session: State, tag: str) -> int:
    """Returns the version of a session that the user's memory has taken over."""
    return dict(owner.carried).get(tag, session.taken)


def linear(owner: State, session: State) -> bool:
    """Tells whether the session's memory may replace the user's, because it contains all of the user's memory."""
    return not owner.version or session.start == owner.mark


def carried(owner: State, tag: str, version: int) -> State:
    """Returns a user's memory with the record that it has taken over this version of a session."""
    others = [entry for entry in owner.carried if entry[0] != tag]
    return replace(owner, carried=(*others, (tag, version))[-MOST_CARRIED:])


def moved(state: State, before: str, after: str) -> State:
    """Returns the session's state after the user's memory changed from ``before`` to ``after`` (marks). A session that
    continued the user's memory still does; any other state stays."""
    return replace(state, start=after) if state.start == before else state


def settled(state: State, session: State, owner: State) -> State:
    """Returns the session's state after the user's memory has taken over ``session``."""
    same = (session.text, session.entities) == (owner.text, owner.entities)
    return replace(state, start=owner.mark if same else state.start, taken=min(session.version, state.version))


def by_hand(owner: State, changes: Iterable[Version]) -> State:
    """Returns the user's memory with a session's changes by hand: what they removed goes, what they added comes in."""
    for change in changes:
        old, new = parts(change.prior), parts(change.text)
        gone, new_parts = [part for part in old if part not in new], [part for part in new if part not in old]
        text = _without_any(owner.text, gone)
        remaining = parts(text)
        new_parts = [part for part in new_parts if not any(equal(part, other) for other in remaining)]
        dropped = {(same_key(entity.key), entity.value) for entity in change.dropped}
        entities = (entity for entity in owner.entities if (same_key(entity.key), entity.value) not in dropped)
        owner = replace(owner, text="\n".join([*lines(text), *new_parts]), entities=tuple(entities))
    return owner


def _without_any(text: str, gone: Sequence[str]) -> str:
    return thinned(text, lambda part: any(equal(part, other) for other in gone))


def with_values(entities: tuple[Entity, ...], session: State, turns: Sequence[MemoryTurn]) -> tuple[Entity, ...]:
    """Returns the user's entities with the session's ones from these turns, except values that an entity already
    holds."""
    numbers = {turn.number for turn in turns}
    for entity in session.entities:
        if entity.turn in numbers and not any(entity.value == other.value for other in entities):
            entities = put(entities, entity)
    return entities


def with_waiting(owner: State, session: State, versions: Sequence[Version], tag: str, room: int) -> State:
    """Returns the user's memory, within ``room`` tokens, with the turns of a session that it has not taken over yet.

    Code alone adds the turns, so that a new session does not wait for a fold.
    """
    seen = taken(owner, session, tag)
    folded_turns = [turn for version in versions if seen < version.number <= session.version for turn in version.turns]
    turns = said_last([*folded_turns, *session.waiting], WAITING_CHARS)
    if not turns:
        return owner
    source = FoldInput(from_before(owner.text), owner.entities, turns, owner.pins, session.forgotten)
    folded = _by_code(source, room)
    return replace(owner, text=from_before(folded.text), entities=with_values(folded.entities, session, turns))


@lru_cache(maxsize=64)
def _by_code(source: FoldInput, room: int) -> Folded:
    return fold.word_for_word(source, estimate, room)


def chain(client: Client, redis: RedisStore, archive: Archive, scope: Scope) -> tuple[State, list[Version]]:
    """Returns the state with all its versions, oldest first, without undone ones."""
    state, newest = redis.read_all(client, scope)
    numbered = {version.number: version for version in archive.versions(scope) if version.number <= state.version}
    numbered |= {version.number: version for version in newest}
    return state, [numbered[number] for number in sorted(numbered)]


def take_back(
    client: Client, redis: RedisStore, scope: Scope, back: Callable[[State], State], steps: Sequence[Step] = ()
) -> State:
    """Undoes a session's newest version, and its copy if the user's memory took it over last.

    Returns the session's state. When another session has written to the user's memory since, the text there stays;
    later turns are still taken over. ``steps``: when several versions are undone at once, the session's version and
    text after each. Raises ``Conflict``.
    """
    state = redis.change(client, scope, back, undo=len(steps) or 1)
    if not state.user or state.apart:
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
    """Returns the user's memory after a session goes back by these steps, how many of its versions go, and the
    session's new ``start``."""
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
    """Returns the user's memory as this version left it, without texts forgotten since."""
    back = replace(carried(owner, tag, at), text=before.text, version=before.number, entities=before.after)
    return rid(back, [what for what, _ in owner.forgotten], owner)
