"""Where a turn of a story lies, and which turns lie before it, from two numbers of each turn.

The turns of stories lie in the one tree of all conversations (``store.path``): a turn that is the first to follow
another goes on its branch; a further one begins a branch of its own. So whether one turn lies before another is seen
from their branches and numbers, however long the story is.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, and_, bindparam, func, insert, select, update

from errors import WorldUnknown
from store.database import schema
from store.database import world_table as table
from store.owner import can_access_row
from store.path import Path, branch_at, fork_path, is_among, parse_path
from store.session.history import copy_turn_marks
from store.session.session_path import extend_session_path, lock_session_row, switch_session_path
from store.world.record import StoryNode

_NODE, _TURN, _BRANCH = table.node.c, schema.turn.c, schema.branch.c
TOLD = table.node.join(
    schema.turn,
    and_(_TURN.session_id == _NODE.session_id, _TURN.branch == _NODE.branch, _TURN.number == _NODE.turn),
)
"""What a world adds to turns, with what was said in them."""
COLUMNS = (
    *(column for column in table.node.c if column.name not in ("mood", "snapshot")),
    _TURN.question,
    _TURN.answer,
    _TURN.started.label("created"),
)
_PLACE = (
    select(_NODE.turn, _NODE.session_id, _BRANCH.path, table.world.c.owner, table.world.c.api_key)
    .join(schema.branch, and_(_BRANCH.session_id == _NODE.session_id, _BRANCH.id == _NODE.branch))
    .join(table.world, table.world.c.id == _NODE.world_id)
    .where(_NODE.id == bindparam("of_node"))
)
_AMONG = select(_NODE.id, _NODE.branch, _NODE.turn, _NODE.session_id).where(
    _NODE.id.in_(bindparam("ids", expanding=True))  # a condition on the story would have SQLite read all its turns
)
_FOUND = (
    select(*COLUMNS, table.world.c.owner, table.world.c.api_key)
    .select_from(TOLD.join(table.world, table.world.c.id == _NODE.world_id))
    .where(_NODE.id == bindparam("of_node"))
)


def as_node(row: Any) -> StoryNode:
    """Returns a row of the tables as a turn."""
    return StoryNode(
        id=row.id,
        world=row.world_id,
        session=row.session_id,
        branch=row.branch,
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
        source=row.source,
    )


def load_node(connection: Connection, node_id: int) -> StoryNode:
    """Returns a turn of the connection's user. Raises ``WorldUnknown``."""
    row = connection.execute(_FOUND, {"of_node": node_id}).one_or_none()
    if row is None or not can_access_row(connection, row):
        raise WorldUnknown(world="")
    return as_node(row)


def load_turn_tokens(connection: Connection, node: StoryNode) -> int:
    """Returns the tokens of a turn's words, as its row has them."""
    here = (_TURN.session_id == node.session, _TURN.branch == node.branch, _TURN.number == node.turn)
    return int(connection.execute(select(_TURN.tokens).where(*here)).scalar_one())


def load_node_place(connection: Connection, node_id: int) -> tuple[str, Path, int]:
    """Returns the conversation of a turn of the connection's user, the path that leads to it, and its number. Raises
    ``WorldUnknown``."""
    row = connection.execute(_PLACE, {"of_node": node_id}).one_or_none()
    if row is None or not can_access_row(connection, row):
        raise WorldUnknown(world="")
    return row.session_id, parse_path(row.path), row.turn


def lock_story(connection: Connection, node: StoryNode) -> None:
    """Keeps a story from being removed until the transaction ends. ``node``: any turn of it. Raises ``WorldUnknown``
    where it is gone: what comes for it then would stay for ever."""
    if not lock_session_row(connection, node.session):
        raise WorldUnknown(world=node.world)
    load_node_place(connection, node.id)  # whose it is


def list_rows_before(connection: Connection, node: StoryNode, last: int, skip: int = 0) -> list[Any]:
    """Returns the rows of the last turns up to this one, newest first; without the large columns that only a state
    needs. ``skip``: how many of the very last are left out."""
    session_id, path, turn = load_node_place(connection, node.id)
    turn -= skip
    query = select(*COLUMNS).select_from(TOLD)
    return list_rows_between(connection, query, session_id, path, turn - last + 1, turn)


def list_rows_between(
    connection: Connection, query: Any, session_id: str, path: Path, first: int, last: int
) -> list[Any]:
    """Returns the rows of the turns ``first`` to ``last`` of a path, newest first. ``query``: of turns, with their
    branch and number. The statement names only the branches of these turns, however many the path has: one that was
    swiped at every turn has as many branches as turns."""
    branches = {branch_at(path, number) for number in range(max(first, path[0][1]), last + 1)}
    here = query.where(_NODE.session_id == session_id, is_among(_NODE.branch, branches))
    rows = connection.execute(here.where(_NODE.turn >= first, _NODE.turn <= last).order_by(_NODE.turn.desc()))
    return [row for row in rows if branch_at(path, row.turn) == row.branch]


def find_ancestors(connection: Connection, node: StoryNode, node_ids: Iterable[int]) -> set[int]:
    """Returns which of these turns are this one or lie before it. Raises ``WorldUnknown``."""
    session_id, path, turn = load_node_place(connection, node.id)
    rows = [row for row in connection.execute(_AMONG, {"ids": list(node_ids)}) if row.session_id == session_id]
    first = path[0][1]
    return {row.id for row in rows if first <= row.turn <= turn and branch_at(path, row.turn) == row.branch}


def find_node_at(connection: Connection, node: StoryNode, turn: int) -> int | None:
    """Returns the id of the turn with this number on the path of ``node``. Raises ``WorldUnknown``."""
    session_id, path, last = load_node_place(connection, node.id)
    if not path[0][1] <= turn <= last:
        return None
    rows = list_rows_between(connection, select(_NODE.id, _NODE.branch, _NODE.turn), session_id, path, turn, turn)
    return rows[0].id if rows else None


def copy_node_marks(connection: Connection, node_id: int, to: int) -> None:
    """Lets a turn be found by all the forms of another one of its story, which says the same."""
    columns = select(_NODE.session_id, _NODE.branch, _NODE.turn)
    source, target = (connection.execute(columns.where(_NODE.id == id)).one() for id in (node_id, to))
    copy_turn_marks(connection, source.session_id, (source.branch, source.turn), (target.branch, target.turn))


def choose_next_line(connection: Connection, session_id: str, parent: StoryNode | None, turn: int) -> tuple[int, Path]:
    """Returns the branch on which the turn after ``parent`` goes, and the path that leads there: the parent's branch
    while nothing follows there."""
    lock_session_row(connection, session_id)
    newest = connection.execute(select(func.max(_BRANCH.id)).where(_BRANCH.session_id == session_id)).scalar_one()
    if parent is None:
        empty = connection.execute(select(_TURN.id).where(_TURN.session_id == session_id).limit(1)).first() is None
        branch = newest if empty else newest + 1
        return branch, [(branch, turn)]
    _, path, _ = load_node_place(connection, parent.id)
    own = branch_at(path, parent.turn)
    here = (_TURN.session_id == session_id, _TURN.branch == own, _TURN.number == turn)
    if connection.execute(select(_TURN.id).where(*here)).first() is None:
        return own, path
    return newest + 1, fork_path(path, turn, newest + 1)


def follow_path(
    connection: Connection, session_id: str, path: Path, turn: int, grown: int, *, is_shown: bool = True
) -> None:
    """Puts a story on the path of a turn that was just told, which is its last. ``grown``: by how many tokens the turn
    has grown. ``is_shown``: False where the story stays on its path, and this one is only known."""
    now, branch = time.time(), {"session_id": session_id, "id": path[-1][0], "path": path, "used": time.time()}
    used = update(schema.branch).where(_BRANCH.session_id == session_id, _BRANCH.id == path[-1][0])
    if not connection.execute(used.values(path=path, used=now)).rowcount:
        connection.execute(insert(schema.branch), branch)
    if not is_shown or (turn == path[0][1] and _begins_again(connection, session_id, path)):
        return
    if not extend_session_path(connection, session_id, path, turn, grown):
        switch_session_path(connection, session_id, path)


def _begins_again(connection: Connection, session_id: str, path: Path) -> bool:
    """Returns whether a greeting is a further one of a story that begins with another already."""
    others = (_TURN.session_id == session_id, _TURN.branch != path[-1][0])
    return not path[0][1] and connection.execute(select(_TURN.id).where(*others).limit(1)).first() is not None
