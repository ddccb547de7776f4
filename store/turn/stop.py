"""Requests to stop a turn that another process runs: a mark in the database, which the running process looks for."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager

from sqlalchemy import Connection, and_, delete, insert, select

from store.database import schema
from store.owner import check_session, in_mine

_TABLE, _TURN = schema.stop_request, schema.turn


class Stops:
    """The stop requests of all sessions; ``transaction`` opens a database transaction."""

    def __init__(self, transaction: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._transaction = transaction

    def ask(self, session_id: str) -> None:
        """Asks for the end of the session's running turn; does nothing when none runs. Raises ``SessionUnknown``.

        The request names one run of one turn, so that a request that comes too late stops no later run.
        """
        running = select(_TURN.c.session_id, _TURN.c.id, _TURN.c.started).where(
            _TURN.c.session_id == session_id, _TURN.c.status == "running"
        )
        with self._transaction() as connection:
            check_session(connection, session_id)
            connection.execute(delete(_TABLE).where(_TABLE.c.session_id == session_id))
            newest = running.order_by(_TURN.c.started.desc(), _TURN.c.id.desc()).limit(1)
            connection.execute(insert(_TABLE).from_select(["session_id", "turn_id", "started"], newest))

    def find_requested_stops(self, sessions: Collection[str]) -> set[str]:
        """Returns those of the sessions whose running turn shall end."""
        same = and_(_TURN.c.id == _TABLE.c.turn_id, _TURN.c.started == _TABLE.c.started, _TURN.c.status == "running")
        with self._transaction() as connection:
            wanted = (_TABLE.c.session_id.in_(sorted(sessions)), in_mine(connection, _TABLE.c.session_id))
            return set(connection.execute(select(_TABLE.c.session_id).join(_TURN, same).where(*wanted)).scalars())
