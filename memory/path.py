"""Following a conversation's path: turns that were answered anew, or that the path has left, leave the memory.

Level-triggered: what the path has is compared with what the memory has seen, so it does not matter what was missed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from memory import carry, recollect
from memory.address import Client
from memory.key import Scope
from memory.state import State, Turn, Version, note, trimmed, undone
from memory.store import RedisStore

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


def rewind(client: Client, redis: RedisStore, scope: Scope, first: int, look: Look) -> None:
    """The memory as it was before turn ``first``: later versions are undone, later turns and values leave.

    What the user had forgotten stays forgotten, also where an earlier version said it.
    """
    while True:
        state, known = look()
        if not any(turn.number >= first for version in known for turn in version.turns):
            break
        _undo(client, redis, scope, state, known)
    redis.change(client, scope, lambda state: _before(state, first))


def joined(state: State, path: Sequence[Turn]) -> State:
    """The state with the turns of the path that are newer than what is in the memory."""
    folded = max((end for _, end in state.folded), default=0)
    for turn in [each for each in path if each.number > folded][-MOST_MISSED:]:
        state = note(state, turn)
    return state


def _undo(client: Client, redis: RedisStore, scope: Scope, seen: State, known: Sequence[Version]) -> None:
    last, before = known[-1], known[-2] if len(known) > 1 else None

    def back(state: State) -> State:
        if state.version != seen.version:  # somebody else was here: what is to do is looked at again
            return state
        return replace(undone(state, last, before.text if before else ""), version=before.number if before else 0)

    carry.take_back(client, redis, scope, back)


def _before(state: State, first: int) -> State:
    folded = tuple((start, min(end, first - 1)) for start, end in state.folded if start < first)
    kept = recollect.rid(state, [what for what, _ in state.forgotten])
    return trimmed(
        replace(
            kept,
            short=tuple(turn for turn in state.short if turn.number < first),
            folded=folded,
            entities=tuple(each for each in kept.entities if each.turn < first),
            rejection=None,
        )
    )
