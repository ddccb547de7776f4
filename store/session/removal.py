"""Removes conversations with all that belongs to them; of a story also what its world has added to its turns."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, and_, delete, select

from store.database import schema
from store.database import world_table as table
from store.search.turn_index_change import record_removal
from store.session.history import drop_marks
from store.task.task import removed_of_session

BY_SESSION = (
    schema.turn,
    schema.turn_index,
    schema.summary,
    schema.branch,
    schema.session_options,
    schema.session_prompt,
    schema.outbox,
    schema.partial,
    schema.stop_request,
    schema.begun_call,
    schema.attachment,
    schema.image,
    schema.side_call,
)
"""Tables whose rows name their conversation."""
_SESSION, _NODE, _VECTOR = schema.session.c, table.node.c, table.vector.c


def remove_session(connection: Connection, session_id: str) -> bool:
    """Removes a conversation for good; returns False where it does not exist. The caller has asked whose it is."""
    # first, because this statement takes the lock
    gone = delete(schema.session).where(_SESSION.id == session_id)
    row = connection.execute(gone.returning(_SESSION.owner, _SESSION.alias, _SESSION.world)).one_or_none()
    if row is None:
        return False
    removed_of_session(connection, row.owner, (session_id, row.alias))
    if row.world:
        _remove_nodes(connection, row.world, _NODE.session_id == session_id)
    for rows in BY_SESSION:
        connection.execute(delete(rows).where(rows.c.session_id == session_id))
    drop_marks(connection, session_id)
    record_removal(connection, session_id, row.owner)
    return True


def remove_turn_node(connection: Connection, session_id: str, branch: int, number: int) -> None:
    """Removes what a world has added to a turn that is answered once more."""
    here = and_(_NODE.session_id == session_id, _NODE.branch == branch, _NODE.turn == number)
    world_id = connection.execute(select(_NODE.world_id).where(here)).scalar()
    if world_id is not None:
        _remove_nodes(connection, world_id, here)


def _remove_nodes(connection: Connection, world_id: str, which: ColumnElement[bool]) -> None:
    """Removes what a world has added to turns of its stories."""
    inside = select(_NODE.id).where(which)
    for rows in table.BY_NODE:
        connection.execute(delete(rows).where(rows.c.node.in_(inside)))
    found = (table.finding.c.world_id == world_id, table.finding.c.node.in_(inside))
    connection.execute(delete(table.finding).where(*found))
    episodes = (_VECTOR.world_id == world_id, _VECTOR.kind == "episode", _VECTOR.ref.in_(inside))
    connection.execute(delete(table.vector).where(*episodes))
    connection.execute(delete(table.node).where(which))
