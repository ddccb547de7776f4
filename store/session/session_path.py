"""The path of a conversation as its row holds it, with what is counted along it: turns and their tokens."""

from __future__ import annotations

import time

from sqlalchemy import Connection, func, select, update

from store.database import schema
from store.path import Path, on_path, parse_path
from store.search.turn_index_change import record_change

_SESSION, _BRANCH, _TURN = schema.session.c, schema.branch.c, schema.turn.c


def lock_session_row(connection: Connection, session_id: str) -> bool:
    """Keeps other transactions from changing a conversation, or removing it, until this one ends; returns whether it is
    there. Whoever takes the number of its next branch locks first: two that take it at once would take the same."""
    locked = update(schema.session).where(_SESSION.id == session_id).values(revision=_SESSION.revision)
    return connection.execute(locked).rowcount > 0


def switch_session_path(connection: Connection, session_id: str, path: Path, at: float | None = None) -> None:
    """Makes ``path`` the conversation's path and counts its turns. ``at``: when (Unix seconds); None: now."""
    now = time.time() if at is None else at
    here = (_TURN.session_id == session_id, on_path(_TURN.branch, _TURN.number, path))
    last, tokens = connection.execute(select(func.max(_TURN.number), func.sum(_TURN.tokens)).where(*here)).one()
    values = {"path": path, "turn_count": last or 0, "history_tokens": tokens or 0, "updated": now}
    changed = update(schema.session).where(_SESSION.id == session_id)
    connection.execute(changed.values(revision=_SESSION.revision + 1, **values))
    used = update(schema.branch).where(_BRANCH.session_id == session_id, _BRANCH.id == path[-1][0])
    connection.execute(used.values(used=now))
    record_change(connection, session_id, rebuilt=False)


def extend_session_path(connection: Connection, session_id: str, path: Path, turn: int, grown: int) -> bool:
    """Counts a turn that goes on with the conversation's path as its last; returns False where the path is another one.
    ``grown``: by how many tokens it has grown. The turns before are not read, however many there are."""
    own = _SESSION.id == session_id
    row = connection.execute(select(_SESSION.path, _SESSION.turn_count).where(own)).one()
    if parse_path(row.path) != path or row.turn_count not in (turn - 1, turn):  # a turn that was begun is counted
        return False
    counted = {"turn_count": turn, "history_tokens": _SESSION.history_tokens + grown, "updated": time.time()}
    connection.execute(update(schema.session).where(own).values(revision=_SESSION.revision + 1, **counted))
    return True


__all__ = ["extend_session_path", "lock_session_row", "switch_session_path"]
