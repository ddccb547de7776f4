"""Files that users drop into conversations: the conversation that owns each file, and the message that carries it.

A row exists before its file is read, and names the document by its key (``retrieval.change.SourceFile.key``), or an
image (``store.turn.image``). A
document of a conversation that no row names has no owner and may be removed. A conversation has one file per name,
the newest.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, delete, exists, func, insert, select, update

from store.database import schema
from store.owner import build_owner_condition, check_session

_TABLE = schema.attachment
_WAITING = (
    select(_TABLE.c.name, _TABLE.c.key)
    .where(_TABLE.c.session_id == bindparam("session"), _TABLE.c.message.in_((0, bindparam("sent"))))
    .order_by(_TABLE.c.place, _TABLE.c.name)
)
_TAKEN = (
    update(_TABLE)
    .where(_TABLE.c.session_id == bindparam("session"), _TABLE.c.message.in_((0, bindparam("sent"))))
    .values(message=None)
)
NEXT = 0
"""Used in place of a message's id: the file goes with the next message."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file of a conversation. ``message``: the id of the waiting message that carries the file, ``NEXT``, or None
    when the file belongs to a turn.
    """

    session_id: str
    name: str
    key: str
    message: int | None


class Attachments:
    """The files of all conversations; ``transaction`` opens a database transaction."""

    def __init__(self, transaction: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._transaction = transaction

    def add(self, session_id: str, files: Iterable[tuple[str, str]], message: int = NEXT) -> None:
        """Adds files, as pairs of name and key, to a conversation. A file replaces an earlier file of the same name.

        Raises ``SessionUnknown``.
        """
        listed = list(files)
        with self._transaction() as connection:
            check_session(connection, session_id)
            names = [name for name, _ in listed]
            connection.execute(delete(_TABLE).where(_TABLE.c.session_id == session_id, _TABLE.c.name.in_(names)))
            insert_attachments(connection, session_id, listed, message)

    def bind(self, session_id: str, names: Sequence[str], message: int) -> None:
        """Gives files that wait for the next message to the message of this id. Raises ``SessionUnknown``."""
        waiting = (_TABLE.c.session_id == session_id, _TABLE.c.name.in_(names), _TABLE.c.message == NEXT)
        with self._transaction() as connection:
            check_session(connection, session_id)
            connection.execute(update(_TABLE).where(*waiting).values(message=message))

    def of(self, session_id: str) -> list[Attachment]:
        """Returns the files of a conversation, sorted by name. Raises ``SessionUnknown``."""
        query = select(_TABLE).where(_TABLE.c.session_id == session_id).order_by(_TABLE.c.name)
        with self._transaction() as connection:
            check_session(connection, session_id)
            return [Attachment(row.session_id, row.name, row.key, row.message) for row in connection.execute(query)]

    def remove(self, session_id: str, name: str) -> None:
        """Removes a file from a conversation. Raises ``SessionUnknown``."""
        with self._transaction() as connection:
            check_session(connection, session_id)
            connection.execute(delete(_TABLE).where(_TABLE.c.session_id == session_id, _TABLE.c.name == name))

    def find_abandoned_sessions(self, before: float) -> list[str]:
        """Returns the ids of conversations that were created before ``before`` (Unix seconds) and have files, but no
        turn and no waiting message.
        """
        sessions, outbox = schema.session, schema.outbox
        has_files = exists(select(_TABLE.c.session_id).where(_TABLE.c.session_id == sessions.c.id))
        has_message = exists(select(outbox.c.id).where(outbox.c.session_id == sessions.c.id))
        query = select(sessions.c.id).where(
            sessions.c.turn_count == 0, sessions.c.created < min(before, time.time()), has_files, ~has_message
        )
        with self._transaction() as connection:
            return list(connection.execute(query.where(build_owner_condition(connection, sessions.c.owner))).scalars())


def insert_attachments(connection: Connection, session_id: str, files: Sequence[tuple[str, str]], message: int) -> None:
    """Writes rows of files, as pairs of name and key, behind those that the conversation has."""
    last = select(func.max(_TABLE.c.place)).where(_TABLE.c.session_id == session_id)
    first = (connection.execute(last).scalar() or 0) + 1
    rows = [
        {"session_id": session_id, "name": name, "key": key, "message": message, "place": place}
        for place, (name, key) in enumerate(files, first)
    ]
    if rows:
        connection.execute(insert(_TABLE), rows)


def assign_message_files(connection: Connection, session_id: str, message: int | None) -> list[dict[str, str]]:
    """Gives a message's files to the turn that the message becomes now; returns the name and key of each file."""
    values = {"session": session_id, "sent": message or NEXT}
    files = [{"name": row.name, "key": row.key} for row in connection.execute(_WAITING, values)]
    if files:
        connection.execute(_TAKEN, values)
    return files


def release_message_files(connection: Connection, message: int) -> None:
    """Gives the files of a withdrawn message to the next message."""
    connection.execute(update(_TABLE).where(_TABLE.c.message == message).values(message=NEXT))


def copy_attachments(connection: Connection, source: str, made: str, files: Sequence[dict[str, str]]) -> None:
    """Copies those of the given files that the conversation ``source`` still has to the conversation ``made``."""
    keys = {file["key"] for file in files if "key" in file}
    attachments = connection.execute(select(_TABLE).where(_TABLE.c.session_id == source))
    rows = [{**row._mapping, "session_id": made, "message": None} for row in attachments if row.key in keys]
    if rows:
        connection.execute(insert(_TABLE), rows)
