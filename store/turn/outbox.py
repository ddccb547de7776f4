"""Messages that are not turns yet: they wait for an answer, for the model or for files, or were not accepted as turns.

A message is a row from the moment the user sends it until its turn begins. The transaction that begins the turn deletes
the row. So a process that ends in between loses no message, and leaves no row of a message that became a turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, delete, func, insert, select

from store.database import schema
from store.owner import check_session, in_mine
from store.turn.attachment import release_message_files

_TABLE = schema.outbox
_SENT = (
    delete(_TABLE)
    .where(
        _TABLE.c.id
        == select(func.min(_TABLE.c.id))
        .where(
            _TABLE.c.session_id == bindparam("session"),
            _TABLE.c.turn == bindparam("in_place_of"),
            _TABLE.c.text == bindparam("said"),
        )
        .scalar_subquery()
    )
    .returning(_TABLE.c.id)
)


@dataclass(frozen=True, slots=True)
class WaitingMessage:
    """A waiting message. ``turn``: the turn that an edited text replaces, else 0; ``created``: Unix seconds."""

    id: int
    session_id: str
    text: str
    turn: int
    created: float


class Outbox:
    """The waiting messages of all sessions, oldest first; ``transaction`` opens a database transaction."""

    def __init__(self, transaction: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._transaction = transaction

    def add(self, session_id: str, text: str, turn: int = 0) -> int:
        """Stores a message; returns its id, which no other message will ever have. Raises ``SessionUnknown``."""
        row = {"session_id": session_id, "text": text, "turn": turn, "created": time.time()}
        with self._transaction() as connection:
            check_session(connection, session_id)
            result = connection.execute(insert(_TABLE), row)
        return int(result.inserted_primary_key[0])  # type: ignore[index]

    def remove(self, message_id: int) -> bool:
        """Withdraws a message; returns False when the row was gone already, or is not the user's. The message's files
        go with the next message.
        """
        with self._transaction() as connection:
            own = (_TABLE.c.id == message_id, in_mine(connection, _TABLE.c.session_id))
            if not connection.execute(delete(_TABLE).where(*own)).rowcount:
                return False
            release_message_files(connection, message_id)
        return True

    def of(self, session_id: str) -> list[WaitingMessage]:
        """Returns the messages of one session, oldest first. Raises ``SessionUnknown``."""
        query = select(_TABLE).where(_TABLE.c.session_id == session_id).order_by(_TABLE.c.id)
        with self._transaction() as connection:
            check_session(connection, session_id)
            return [WaitingMessage(**row._mapping) for row in connection.execute(query)]


def delete_sent_message(connection: Connection, session_id: str, text: str, turn: int = 0) -> int | None:
    """Deletes the message that becomes a turn now; returns the message's id, or None without such a row. ``turn``: the
    turn that the message replaces, else 0.
    """
    return connection.execute(_SENT, {"session": session_id, "in_place_of": turn, "said": text}).scalar()
