"""Where the turns of a conversation lie: a path through its branches.

Regenerating or editing turn N begins a new branch at N; both branches share the earlier turns without a copy. A path
lists branches, each with the first turn that the path takes from it: ``[(0, 1), (2, 5)]`` is branch 0 for turns 1 to 4
and branch 2 from turn 5 on.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import BindParameter, ColumnElement, Integer, and_, bindparam, false, literal_column, or_

Path = list[tuple[int, int]]
TRUNK: Path = [(0, 1)]
MOST_RANGES = 100
"""The most branches that a statement names with the range of each; SQLite refuses a thousand."""
_NO_LAST = 2**31 - 1
"""Stands for the end of a path that goes on: the largest number that a column of the database holds."""


def parse_path(stored: list[list[int]]) -> Path:
    """Returns a path that was read from the database as a list of tuples."""
    return [(int(branch), int(first)) for branch, first in stored]


def branch_at(path: Path, number: int) -> int:
    """Returns the branch that holds turn ``number``."""
    return next(branch for branch, first in reversed(path) if first <= number)


def fork_path(path: Path, number: int, branch: int) -> Path:
    """Returns the path that leaves ``path`` before turn ``number`` and goes on along ``branch``."""
    return [*cut_path_before(path, number), (branch, number)]


def cut_path_before(path: Path, number: int) -> Path:
    """Returns the part of the path that holds the turns before ``number``."""
    return [(branch, first) for branch, first in path if first < number]


def on_path(branch: ColumnElement[int], number: ColumnElement[int], path: Path) -> ColumnElement[bool]:
    """Returns the condition that a row with these columns lies on the path."""
    lasts = [first - 1 for _, first in path[1:]] + [_NO_LAST]
    ranges = [(owner, first, last) for (owner, first), last in zip(path, lasts, strict=True)]
    if len(path) <= MOST_RANGES:  # each range is looked up in the key of the turns
        return or_(false(), *(_choose_range(branch == owner, number, first, last) for owner, first, last in ranges))
    firsts = _choose_by_branch(branch, [(owner, first) for owner, first, _ in ranges])
    ends = _choose_by_branch(branch, [(owner, last) for owner, _, last in ranges])
    return and_(is_among(branch, [owner for owner, _, _ in ranges]), number.between(firsts, ends))


def is_among(column: ColumnElement[int], numbers: Collection[int]) -> ColumnElement[bool]:
    """Returns the condition that a number is one of these; many stand there as text, for SQLite takes no more than
    32,766 parameters."""
    wanted: BindParameter[int] = bindparam(None, [*numbers], expanding=True, literal_execute=len(numbers) > MOST_RANGES)
    return column.in_(wanted)


def _choose_range(here: ColumnElement[bool], number: ColumnElement[int], first: int, last: int) -> ColumnElement[bool]:
    return and_(here, number >= first, *([] if last == _NO_LAST else [number <= last]))


def _choose_by_branch(branch: ColumnElement[int], numbers: list[tuple[int, int]]) -> ColumnElement[int]:
    """Returns the expression for the number that belongs to a branch, as text: thousands of parameters are slow."""
    choices = " ".join(f"WHEN {int(owner)} THEN {int(number)}" for owner, number in numbers)
    return literal_column(f"CASE {branch} {choices} END", Integer)
