"""Follows a conversation's path: turns that were answered again, or that left the path, leave the memory.

Level-triggered: it compares the path with what the memory has seen, so missed events do not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from memory.change import user_memory
from memory.change.drop import rid
from memory.key import Scope
from memory.redis.address import Client
from memory.redis.redis_store import TRIES, Conflict, RedisStore
from memory.state import MemoryTurn, State, Version, note, trimmed, undone

MOST_MISSED = 200
"""Most turns that a memory takes in from a conversation that it has not seen, such as an imported one."""

Look = Callable[[], tuple[State, Sequence[Version]]]
"""A function that returns the current state with its versions, oldest first."""


def strays(state: State, versions: Sequence[Version], path: Sequence[MemoryTurn], last: int) -> int | None:
    """Returns the first turn in the memory that the path lacks or has with another text; None when there is none.

    ``path``: its turns from some number on; older turns are taken to be the same. ``last``: the last turn of the path.
    """
    here = {turn.number: (turn.question, turn.answer) for turn in path}
    seen = {
        turn.number: turn for turn in [*(earlier for version in versions for earlier in version.turns), *state.short]
    }
    wrong = [
        number
        for number, turn in seen.items()
        if number > last or here.get(number, (turn.question, turn.answer)) != (turn.question, turn.answer)
    ]
    beyond = [max(first, last + 1) for first, end in state.folded if end > last]
    return min([*wrong, *beyond], default=None)


def rewind(
    client: Client, redis: RedisStore, scope: Scope, first: int, seen: tuple[State, Sequence[Version]], look: Look
) -> State:
    """Returns the memory to its state before turn ``first``: undoes later versions, removes later turns and values.

    Does so in one step, however many versions it undoes, because a user waits. ``seen``: the last result of ``look``.
    Texts that the user had forgotten stay forgotten, even if an earlier version says them. Raises ``Conflict``.
    """
    for _ in range(TRIES):
        state, known = seen
        strays = [any(turn.number >= first for turn in version.turns) for version in known]
        if not any(strays):
            return redis.change(client, scope, lambda state: _before(state, first, state), known=state)
        at = strays.index(True)
        now = _undo(client, redis, scope, state, known, at, first)
        if now.version == (known[at - 1].number if at else 0):
            return now
        seen = look()  # another writer changed the memory
    raise Conflict(scope.tag)


def joined(state: State, path: Sequence[MemoryTurn]) -> State:
    """Returns the state with those turns of the path that are newer than the turns in the memory."""
    folded = max((end for _, end in state.folded), default=0)
    for turn in [candidate for candidate in path if candidate.number > folded][-MOST_MISSED:]:
        state = note(state, turn)
    return state


def _undo(
    client: Client, redis: RedisStore, scope: Scope, seen: State, known: Sequence[Version], at: int, first: int
) -> State:
    """Undoes the versions from ``known[at]`` on and removes the rest from turn ``first`` on; returns the state."""
    befores = [(0, ""), *((earlier.number, earlier.text) for earlier in known)]
    gone, steps = [*reversed(known[at:])], [*reversed(befores[at:-1])]

    def back(state: State) -> State:
        if state.version != seen.version:
            return state
        result = state
        for version, (number, text) in zip(gone, steps, strict=True):
            result = replace(undone(result, version, text), version=number)
        return _before(result, first, state)

    return user_memory.take_back(client, redis, scope, back, steps)


def _before(state: State, first: int, now: State) -> State:
    """Returns the state without turns and values from ``first`` on, and without forgotten texts missing from
    ``now``."""
    folded = tuple((start, min(end, first - 1)) for start, end in state.folded if start < first)
    remaining = rid(state, [what for what, _ in state.forgotten], now)
    return trimmed(
        replace(
            remaining,
            short=tuple(turn for turn in state.short if turn.number < first),
            folded=folded,
            entities=tuple(entity for entity in remaining.entities if entity.turn < first),
            rejection=None,
        )
    )
