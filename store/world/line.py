"""Which story is this? A client sends its whole history and no id: turns are recognised by the marks of their texts.

A mark stands for one question and its answer, white space normalised (``store.history.mark_of``). The history is
followed from its first turn along the tree, so a swipe, an edit, a deletion and a branch lead to the turn where they
leave the known path. A client that has dropped its oldest turns is recognised by the turns that are left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, select

from store.database import world_table as table
from store.history import mark_of, owned
from store.owner import EVERYONE, mine, user_of
from store.world import tree
from store.world.record import Known

MOST_MARKS = 2000
"""The last turns of a history that are compared."""
MOST_ROWS = 20_000
PIECE = 500
SURE = 2
"""Turns in a row that show whose history this is, when it begins with something unknown."""
_KEY, _WORLD = table.key.c, table.world.c

Step = tuple[int, int, str]
"""A known turn: its id, its parent's, its world's."""


def known(connection: Connection, world_id: str | None, turns: Sequence[tuple[str, str]]) -> Known:
    """Returns what of a history is known (``Known``). ``turns``: questions with their answers, oldest first;
    ``world_id``: None for all worlds of the connection's user."""
    user = user_of(connection)
    if user is EVERYONE or not turns:
        return Known(None, 0)
    older = max(0, len(turns) - MOST_MARKS)
    marks = [owned(mark_of(question, answer), user) for question, answer in turns[older:]]
    steps = _steps(connection, world_id, marks)
    ways = _from_start(marks, steps) if not older else []
    greeted = bool(ways) and max(count for count, _ in ways) == 1 and not turns[0][0]
    if not ways:
        ways = _from_anywhere(marks, steps)
    elif greeted and (later := [way for way in _from_anywhere(marks, steps) if way[0] == len(marks) > 1]):
        ways = later  # a client that drops its oldest turns may keep the greeting
    if not ways:
        return Known(None, 0)
    longest = max(count for count, _ in ways)
    best = sorted({step for count, step in ways if count == longest}, key=lambda step: -step[0])
    greeting = longest == 1 and not turns[0][0]
    if len(best) > 1 and not greeting:
        return Known(None, 0, ambiguous=True)
    return Known(tree.find(connection, best[0][0]), older + longest)


def _steps(connection: Connection, world_id: str | None, marks: Sequence[str]) -> Mapping[str, list[Step]]:
    """Returns the known turns by their marks."""
    steps: dict[str, list[Step]] = {}
    wanted = list(dict.fromkeys(marks))
    for at in range(0, len(wanted), PIECE):
        query = select(_KEY.mark, _KEY.node, _KEY.parent, _KEY.world_id).where(_KEY.mark.in_(wanted[at : at + PIECE]))
        query = query.join(table.world, _WORLD.id == _KEY.world_id).where(mine(connection, _WORLD.owner))
        query = query.where(_KEY.world_id == world_id) if world_id is not None else query
        for row in connection.execute(query.order_by(_KEY.node.desc()).limit(MOST_ROWS)):
            steps.setdefault(row.mark, []).append((row.node, row.parent, row.world_id))
    return steps


def _from_start(marks: Sequence[str], steps: Mapping[str, list[Step]]) -> list[tuple[int, Step]]:
    """Returns every way from a story's first turn along the history: how many of its turns, and the last of them."""
    here = [step for step in steps.get(marks[0], ()) if step[1] == 0]
    ways = [(1, step) for step in here]
    for at, mark in enumerate(marks[1:], 2):
        reached = {(step[0], step[2]) for step in here}
        here = [step for step in steps.get(mark, ()) if (step[1], step[2]) in reached]
        if not here:
            break
        ways = [(at, step) for step in here]
    return ways


def _from_anywhere(marks: Sequence[str], steps: Mapping[str, list[Step]]) -> list[tuple[int, Step]]:
    """Returns the longest runs of turns that say the same as a part of the history, each by where it ends: those of at
    least ``SURE`` turns, or one that is the whole history."""
    runs: dict[Step, int] = {}
    best: list[tuple[int, int, Step]] = []
    for at, mark in enumerate(marks, 1):
        lengths = {(step[0], step[2]): length for step, length in runs.items()}
        runs = {step: lengths.get((step[1], step[2]), 0) + 1 for step in steps.get(mark, ())}
        best += [(length, at, step) for step, length in runs.items() if length >= min(SURE, len(marks))]
    longest = max((length for length, _, _ in best), default=0)
    return [(at, step) for length, at, step in best if length == longest]


def form(owner: str, question: str, answer: str) -> str:
    """Returns the mark under which a turn is stored for its owner."""
    return owned(mark_of(question, answer), owner)


def rows(world_id: str, parent: int, node: int, marks: Sequence[str]) -> list[dict[str, Any]]:
    """Returns the rows that make a turn known."""
    return [{"world_id": world_id, "parent": parent, "mark": mark, "node": node} for mark in dict.fromkeys(marks)]


__all__ = ["form", "known", "rows"]
