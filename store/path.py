"""Where the turns of a conversation lie: a path through its branches.

Regenerating or editing turn N begins a new branch at N; what came before is shared, not copied. A path lists branches
with the turn from which each counts: ``[(0, 1), (2, 5)]`` is branch 0 for turns 1 to 4 and branch 2 from turn 5 on.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, and_, false, or_

Path = list[tuple[int, int]]
TRUNK: Path = [(0, 1)]


def plain(stored: list[list[int]]) -> Path:
    """A path as it comes from the database."""
    return [(int(branch), int(first)) for branch, first in stored]


def branch_at(path: Path, number: int) -> int:
    """The branch that holds turn ``number``."""
    return next(branch for branch, first in reversed(path) if first <= number)


def fork(path: Path, number: int, branch: int) -> Path:
    """The path that leaves ``path`` before turn ``number``."""
    return [*before(path, number), (branch, number)]


def before(path: Path, number: int) -> Path:
    """The part of the path that holds the turns before ``number``."""
    return [(branch, first) for branch, first in path if first < number]


def on_path(branch: ColumnElement[int], number: ColumnElement[int], path: Path) -> ColumnElement[bool]:
    """Whether a row with these columns lies on the path."""
    lasts: list[int | None] = [first - 1 for _, first in path[1:]] + [None]
    pieces: list[Any] = [
        and_(branch == owner, number >= first, *([] if last is None else [number <= last]))
        for (owner, first), last in zip(path, lasts, strict=True)
    ]
    return or_(false(), *pieces)
