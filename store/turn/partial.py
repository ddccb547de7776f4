"""The text of a running answer that has arrived so far, stored at once so that a crash does not lose the text."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from sqlalchemy import Connection, and_, bindparam, delete, insert, select, update

from store.database import schema
from store.path import branch_at
from store.turn.ledger import path_of

_TABLE = schema.partial
_HERE = _TABLE.c.session_id == bindparam("session")
_DROPPED = delete(_TABLE).where(_HERE)
_GROWN = update(_TABLE).where(_HERE).values(branch=bindparam("b"), number=bindparam("n"), text=bindparam("t"))


class Partials:
    """The unfinished answers of all sessions; ``transaction`` opens a database transaction."""

    def __init__(self, transaction: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._transaction = transaction

    def keep(self, session_id: str, number: int, text: str) -> None:
        """Stores the text that has arrived of turn ``number``'s answer, in place of the earlier text."""
        with self._transaction() as connection:
            branch = branch_at(path_of(connection, session_id), number)
            values = {"session": session_id, "b": branch, "n": number, "t": text}
            if not connection.execute(_GROWN, values).rowcount:
                row = {"session_id": session_id, "branch": branch, "number": number, "text": text}
                connection.execute(insert(_TABLE), row)

    def text(self, session_id: str, number: int) -> str:
        """Returns the stored text of turn ``number``'s answer; empty when there is none."""
        with self._transaction() as connection:
            branch = branch_at(path_of(connection, session_id), number)
            return _load_partial_text(connection, session_id, branch, number) or ""

    def settle(self, session_id: str, number: int) -> None:
        """Moves the stored text into the row of its turn as the answer, because the turn was cut off there."""
        turn = schema.turn
        with self._transaction() as connection:
            branch = branch_at(path_of(connection, session_id), number)
            text = _load_partial_text(connection, session_id, branch, number)
            if text is not None:
                row = (turn.c.session_id == session_id, turn.c.branch == branch, turn.c.number == number)
                connection.execute(update(turn).where(*row, turn.c.status == "running").values(answer=text))
            delete_partial_text(connection, session_id)


def _load_partial_text(connection: Connection, session_id: str, branch: int, number: int) -> str | None:
    where = and_(_TABLE.c.session_id == session_id, _TABLE.c.branch == branch, _TABLE.c.number == number)
    return connection.execute(select(_TABLE.c.text).where(where)).scalar_one_or_none()


def delete_partial_text(connection: Connection, session_id: str) -> None:
    """Deletes the stored text, because the session's answer has ended or begins anew."""
    connection.execute(_DROPPED, {"session": session_id})
