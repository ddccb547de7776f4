"""Messages that are not turns yet: they wait for an answer, for the model or for files, or were not taken.

A message is a row from the moment it is sent until its turn begins, which takes the row away in the same transaction:
a process that ends in between loses none, and leaves none behind that was asked.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, delete, func, insert, select

from store import schema

_TABLE = schema.outbox
_SENT = delete(_TABLE).where(
    _TABLE.c.id
    == select(func.min(_TABLE.c.id))
    .where(
        _TABLE.c.session_id == bindparam("session"),
        _TABLE.c.turn == bindparam("in_place_of"),
        _TABLE.c.text == bindparam("said"),
    )
    .scalar_subquery()
)


@dataclass(frozen=True, slots=True)
class Message:
    """A message that waits. ``turn``: the one whose place an edited text takes, else 0; ``created``: Unix seconds."""

    id: int
    session_id: str
    text: str
    turn: int
    created: float


class Outbox:
    """The waiting messages of all sessions, first to go first; ``transaction`` opens a database transaction."""

    def __init__(self, transaction: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._transaction = transaction

    def add(self, session_id: str, text: str, turn: int = 0) -> int:
        """Keeps a message; returns its id, which no other message will have."""
        row = {"session_id": session_id, "text": text, "turn": turn, "created": time.time()}
        with self._transaction() as connection:
            added = connection.execute(insert(_TABLE), row)
        return int(added.inserted_primary_key[0])  # type: ignore[index]

    def remove(self, message_id: int) -> bool:
        """Takes a message back; False when it was gone."""
        with self._transaction() as connection:
            return connection.execute(delete(_TABLE).where(_TABLE.c.id == message_id)).rowcount > 0

    def of(self, session_id: str) -> list[Message]:
        """The messages of one session."""
        wanted = select(_TABLE).where(_TABLE.c.session_id == session_id).order_by(_TABLE.c.id)
        with self._transaction() as connection:
            return [Message(**row._mapping) for row in connection.execute(wanted)]


def sent(connection: Connection, session_id: str, text: str, turn: int = 0) -> None:
    """Takes the message away that becomes a turn now; ``turn``: one that it takes the place of."""
    connection.execute(_SENT, {"session": session_id, "in_place_of": turn, "said": text})
