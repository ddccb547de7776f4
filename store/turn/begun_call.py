"""Calls of foreign tools that have begun: a mark before the call, so that none runs twice after a crash."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from sqlalchemy import ColumnElement, Connection, delete, insert, select

from store.database import schema
from store.owner import check_session

_TABLE, _TURN = schema.begun_call, schema.turn


class BegunCalls:
    """The calls of running turns; ``transaction`` opens a database transaction."""

    def __init__(self, transaction: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._transaction = transaction

    def begin(self, session_id: str, call: str) -> bool:
        """Marks a call of the session's running turn as begun; returns False where it had begun before. ``call``: its
        key, the same when the turn goes on after a crash. Marks of other turns are removed. Raises ``SessionUnknown``.
        """
        running = select(_TURN.c.id).where(_TURN.c.session_id == session_id, _TURN.c.status == "running")
        with self._transaction() as connection:
            check_session(connection, session_id)
            turn = connection.execute(running.order_by(_TURN.c.started.desc(), _TURN.c.id.desc())).scalar() or 0
            own = (_TABLE.c.session_id == session_id, _TABLE.c.turn_id == turn, _TABLE.c.key == call)
            if connection.execute(select(_TABLE.c.key).where(*own)).first() is not None:
                return False
            connection.execute(delete(_TABLE).where(_TABLE.c.session_id == session_id, _TABLE.c.turn_id != turn))
            connection.execute(insert(_TABLE), {"session_id": session_id, "turn_id": turn, "key": call})
        return True

    def has_begun(self, session_id: str, number: int, branch: int) -> bool:
        """Returns whether the last turn, which has this number on this branch, has begun a call that may not run twice.
        Raises ``SessionUnknown``."""
        own = (_TABLE.c.session_id == session_id, *_is_turn(number, branch))
        with self._transaction() as connection:
            check_session(connection, session_id)
            return connection.execute(select(_TABLE.c.key).where(*own).limit(1)).first() is not None

    def find_interrupted(self, session_id: str, number: int, branch: int) -> set[str]:
        """Returns the keys of the calls that turn ``number`` of a branch had begun before it failed or was cut off;
        none of any other turn. Raises ``SessionUnknown``."""
        cut = _TURN.c.status.in_(("running", "failed"))
        of_turn = (_TABLE.c.session_id == session_id, *_is_turn(number, branch), cut)
        with self._transaction() as connection:
            check_session(connection, session_id)
            return set(connection.execute(select(_TABLE.c.key).where(*of_turn)).scalars())


def _is_turn(number: int, branch: int) -> tuple[ColumnElement[bool], ...]:
    """Returns the conditions that a mark is of a turn: each version of it on another branch begins its own calls."""
    return _TURN.c.id == _TABLE.c.turn_id, _TURN.c.number == number, _TURN.c.branch == branch
