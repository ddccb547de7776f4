"""Who holds a copy of a user's rows in ``turn_index`` learns here what has changed, whichever process changed it.

Every change of a session's rows, of its path, or of whether it is put away takes the next revision of its owner, in
the same transaction. The row of the revision is locked until that transaction ends, so revisions become visible in
their order, and whoever has seen one has missed none before it.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, bindparam, delete, select

from store.database import schema
from store.database.insert import insert_into
from store.owner import build_owner_condition

_REVISION, _CHANGE, _SESSION = schema.turn_index_revision, schema.turn_index_change, schema.session
_OWNERS = select(_SESSION.c.id, _SESSION.c.owner).where(_SESSION.c.id.in_(bindparam("sessions", expanding=True)))


def record_change(connection: Connection, session_id: str, *, rebuilt: bool) -> int:
    """Notes that a session's rows, path or place in the list changed; returns the new revision of its owner, or 0
    where the session does not exist.

    ``rebuilt``: more happened than that rows were added. Call it after every other lock of the transaction was taken.
    """
    return record_changes(connection, [session_id], rebuilt=rebuilt)


def record_changes(connection: Connection, session_ids: Iterable[str], *, rebuilt: bool) -> int:
    """Notes a change of those sessions that are the user's; returns the highest new revision."""
    own = _OWNERS.where(build_owner_condition(connection, _SESSION.c.owner))
    found = connection.execute(own, {"sessions": list(session_ids)}).all()
    owners: dict[str, list[str]] = {}
    for session_id, owner in found:
        owners.setdefault(owner, []).append(session_id)
    highest = 0
    for owner in sorted(owners):
        revision = _take_revision(connection, owner)
        highest = max(highest, revision)
        for session_id in owners[owner]:
            _note_change(connection, session_id, owner, revision, rebuilt)
    return highest


def record_owned_change(connection: Connection, session_id: str, owner: str, *, rebuilt: bool) -> int:
    """Notes a change as ``record_change`` does, of a session whose owner the caller has read and may touch."""
    revision = _take_revision(connection, owner)
    _note_change(connection, session_id, owner, revision, rebuilt)
    return revision


def _note_change(connection: Connection, session_id: str, owner: str, revision: int, rebuilt: bool) -> None:
    row = {"session_id": session_id, "owner": owner, "revision": revision, "rebuilt": revision}
    values = {"revision": revision, **({"rebuilt": revision} if rebuilt else {})}
    changed = insert_into(connection, _CHANGE).values(**row)
    connection.execute(changed.on_conflict_do_update(index_elements=["session_id"], set_=values))


def record_removal(connection: Connection, session_id: str, owner: str) -> None:
    """Notes that a session is gone, and keeps no trace of it."""
    connection.execute(delete(_CHANGE).where(_CHANGE.c.session_id == session_id))
    _take_revision(connection, owner, removed=True)


def _take_revision(connection: Connection, owner: str, removed: bool = False) -> int:
    made = insert_into(connection, _REVISION).values(owner=owner, revision=1, removed=int(removed))
    following = _REVISION.c.revision + 1
    set_ = {"revision": following, **({"removed": following} if removed else {})}
    taken = made.on_conflict_do_update(index_elements=["owner"], set_=set_).returning(_REVISION.c.revision)
    return int(connection.execute(taken).scalar_one())
