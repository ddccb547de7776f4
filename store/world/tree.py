"""The tree of turns: where a turn lies, and which turns lie before it, from two numbers of each turn.

A turn that is the first to follow another goes on its line; a further one begins a line of its own. A line knows the
lines that lead to it (``store.path``), so whether one turn lies before another is seen from their lines and numbers,
however long the story is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select

from errors import WorldUnknown
from store.database import world_table as table
from store.history import copy_turn_marks
from store.owner import may
from store.path import Path, branch_at, fork, plain
from store.world.record import Node

_NODE, _LINE = table.node.c, table.line.c
_PLACE = (
    select(_NODE.turn, _LINE.path, table.world.c.owner, table.world.c.api_key)
    .join(table.line, _LINE.id == _NODE.line)
    .join(table.world, table.world.c.id == _NODE.world_id)
    .where(_NODE.id == bindparam("of_node"))
)
_AMONG = select(_NODE.id, _NODE.line, _NODE.turn, _NODE.world_id).where(
    _NODE.id.in_(bindparam("ids", expanding=True))  # a condition on the world would have SQLite read all its turns
)
_COLUMNS = [column for column in table.node.c if column.name not in ("line", "mood", "snapshot")]
_FOUND = (
    select(*_COLUMNS, table.world.c.owner, table.world.c.api_key)
    .join(table.world, table.world.c.id == _NODE.world_id)
    .where(_NODE.id == bindparam("of_node"))
)


def as_node(row: Any) -> Node:
    """Returns a row of the table as a turn."""
    return Node(
        id=row.id,
        world=row.world_id,
        parent=row.parent,
        turn=row.turn,
        question=row.question,
        answer=row.answer,
        raw=row.raw,
        status=row.status,
        origin=row.origin,
        block=row.block,
        refusals=tuple(row.refusals or ()),
        receipt=row.receipt,
        report=row.report,
        since=row.since,
        created=row.created,
    )


def find(connection: Connection, node_id: int) -> Node:
    """Returns a turn of the connection's user. Raises ``WorldUnknown``."""
    row = connection.execute(_FOUND, {"of_node": node_id}).one_or_none()
    if row is None or not may(connection, row):
        raise WorldUnknown(world="")
    return as_node(row)


def place(connection: Connection, node_id: int) -> tuple[Path, int]:
    """Returns the path that leads to a turn of the connection's user, and the turn's number. Raises
    ``WorldUnknown``."""
    row = connection.execute(_PLACE, {"of_node": node_id}).one_or_none()
    if row is None or not may(connection, row):
        raise WorldUnknown(world="")
    return plain(row.path), row.turn


def before(connection: Connection, node: Node, last: int, skip: int = 0) -> list[Any]:
    """Returns the rows of the last turns up to this one, newest first; without the large columns that only a state
    needs. ``skip``: how many of the very last are left out."""
    path, turn = place(connection, node.id)
    turn -= skip
    return between(connection, select(*_COLUMNS, _NODE.line), path, turn - last + 1, turn)


def between(connection: Connection, query: Any, path: Path, first: int, last: int) -> list[Any]:
    """Returns the rows of the turns ``first`` to ``last`` of a path, newest first. ``query``: of turns, with their line
    and number. The statement names only the lines of these turns, however many the path has: one that was swiped at
    every turn has as many lines as turns."""
    lines = {branch_at(path, number) for number in range(max(first, path[0][1]), last + 1)}
    here = query.where(_NODE.line.in_(lines), _NODE.turn >= first, _NODE.turn <= last)
    rows = connection.execute(here.order_by(_NODE.turn.desc()))
    return [row for row in rows if branch_at(path, row.turn) == row.line]


def ancestors(connection: Connection, node: Node, node_ids: Iterable[int]) -> set[int]:
    """Returns which of these turns are this one or lie before it. Raises ``WorldUnknown``."""
    path, turn = place(connection, node.id)
    rows = [row for row in connection.execute(_AMONG, {"ids": list(node_ids)}) if row.world_id == node.world]
    first = path[0][1]
    return {row.id for row in rows if first <= row.turn <= turn and branch_at(path, row.turn) == row.line}


def at(connection: Connection, node: Node, turn: int) -> int | None:
    """Returns the id of the turn with this number on the path of ``node``. Raises ``WorldUnknown``."""
    path, last = place(connection, node.id)
    if not path[0][1] <= turn <= last:
        return None
    rows = between(connection, select(_NODE.id, _NODE.line, _NODE.turn), path, turn, turn)
    return rows[0].id if rows else None


def copy_node_marks(connection: Connection, node_id: int, to: int) -> None:
    """Lets a turn be found by all the forms of another one, which says the same."""
    columns = select(_NODE.world_id, _NODE.line, _NODE.turn)
    source, target = (connection.execute(columns.where(_NODE.id == id)).one() for id in (node_id, to))
    copy_turn_marks(connection, source.world_id, (source.line, source.turn), (target.line, target.turn))


def next_place(connection: Connection, world_id: str, parent: Node | None, turn: int) -> int:
    """Returns the line on which the turn after ``parent`` goes: the parent's line while nothing follows there."""
    if parent is None:
        return _new_line(connection, world_id, [], turn)
    path, _ = place(connection, parent.id)
    own = branch_at(path, parent.turn)
    taken = select(_NODE.id).where(_NODE.line == own, _NODE.turn == turn)
    if connection.execute(taken).first() is None:
        return own
    return _new_line(connection, world_id, path, turn)


def _new_line(connection: Connection, world_id: str, path: Path, turn: int) -> int:
    row = {"world_id": world_id, "path": path}
    line_id = int(connection.execute(insert(table.line).returning(_LINE.id), row).scalar_one())
    whole = fork(path, turn, line_id)
    connection.execute(table.line.update().where(_LINE.id == line_id).values(path=whole))
    return line_id
