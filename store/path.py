"""Where the turns of a conversation lie: a path through its branches.

Regenerating or editing turn N begins a new branch at N; both branches share the earlier turns without a copy. A path
lists branches, each with the first turn that the path takes from it: ``[(0, 1), (2, 5)]`` is branch 0 for turns 1 to 4
and branch 2 from turn 5 on.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, and_, false, or_

Path = list[tuple[int, int]]
TRUNK: Path = [(0, 1)]


def plain(stored: list[list[int]]) -> Path:
    """Returns a path that was read from the database as a list of tuples."""
    return [(int(branch), int(first)) for branch, first in stored]


def branch_at(path: Path, number: int) -> int:
    """Returns the branch that holds turn ``number``."""
    return next(branch for branch, first in reversed(path) if first <= number)


def fork(path: Path, number: int, branch: int) -> Path:
    """Returns the path that leaves ``path`` before turn ``number`` and goes on along ``branch``."""
    return [*before(path, number), (branch, number)]


def before(path: Path, number: int) -> Path:
    """Returns the part of the path that holds the turns before ``number``."""
    return [(branch, first) for branch, first in path if first < number]


def on_path(branch: ColumnElement[int], number: ColumnElement[int], path: Path) -> ColumnElement[bool]:
    """Returns the condition that a row with these columns lies on the path."""
    lasts: list[int | None] = [first - 1 for _, first in path[1:]] + [None]
    pieces: list[Any] = [
        and_(branch == owner, number >= first, *([] if last is None else [number <= last]))
        for (owner, first), last in zip(path, lasts, strict=True)
    ]
    return or_(false(), *pieces)
