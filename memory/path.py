"""Following a conversation's path: turns that were answered anew, or that the path has left, leave the memory.

Level-triggered: what the path has is compared with what the memory has seen, so it does not matter what was missed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from memory import carry
from memory.address import Client
from memory.drop import rid
from memory.key import Scope
from memory.state import State, Turn, Version, note, trimmed, undone
from memory.store import TRIES, Conflict, RedisStore

MOST_MISSED = 200
"""Turns that a memory takes over from a conversation that it has not seen, such as an imported one."""

Look = Callable[[], tuple[State, Sequence[Version]]]
"""The state now with its versions, oldest first."""


def strays(state: State, versions: Sequence[Version], path: Sequence[Turn], last: int) -> int | None:
    """The first turn in the memory that the path does not have, or has otherwise; None when there is none.

    ``path``: its turns from some number on; older ones are taken to be the same. ``last``: where the path ends.
    """
    here = {turn.number: (turn.question, turn.answer) for turn in path}
    seen = {turn.number: turn for turn in [*(each for version in versions for each in version.turns), *state.short]}
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
    """The memory as it was before turn ``first``: later versions are undone, later turns and values leave.

    All in one step, however many versions that are: somebody waits for it. ``seen``: what ``look`` gave. What the user
    had forgotten stays forgotten, also where an earlier version said it.
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
        seen = look()  # somebody else was here
    raise Conflict(scope.tag)


def joined(state: State, path: Sequence[Turn]) -> State:
    """The state with the turns of the path that are newer than what is in the memory."""
    folded = max((end for _, end in state.folded), default=0)
    for turn in [each for each in path if each.number > folded][-MOST_MISSED:]:
        state = note(state, turn)
    return state


def _undo(
    client: Client, redis: RedisStore, scope: Scope, seen: State, known: Sequence[Version], at: int, first: int
) -> State:
    """The versions from ``known[at]`` on taken back, and what is left from turn ``first`` on; the state."""
    befores = [(0, ""), *((each.number, each.text) for each in known)]
    gone, steps = [*reversed(known[at:])], [*reversed(befores[at:-1])]

    def back(state: State) -> State:
        if state.version != seen.version:
            return state
        made = state
        for version, (number, text) in zip(gone, steps, strict=True):
            made = replace(undone(made, version, text), version=number)
        return _before(made, first, state)

    return carry.take_back(client, redis, scope, back, steps)


def _before(state: State, first: int, now: State) -> State:
    """The state without turns and values from ``first`` on, and without what was forgotten and is not there ``now``."""
    folded = tuple((start, min(end, first - 1)) for start, end in state.folded if start < first)
    kept = rid(state, [what for what, _ in state.forgotten], now)
    return trimmed(
        replace(
            kept,
            short=tuple(turn for turn in state.short if turn.number < first),
            folded=folded,
            entities=tuple(each for each in kept.entities if each.turn < first),
            rejection=None,
        )
    )
