"""Conversations and stories whose last answer has not reached its client yet: the number of the turn, in a story the id
of its node, or, of a first question, what the client asked.

A client that names no conversation and sends no history has no other way to say that it means the same question: it
sends it once more. Who was answered and asks the same again begins another conversation, or wants another answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager

from sqlalchemy import Connection, select, update

from errors import SessionUnknown
from store.database import schema
from store.owner import build_owner_condition, check_session

MOST_DIGITS = 12
"""Digits of a turn's number at most; the mark of a first question has more."""
WAITING_SECONDS = 3600.0
"""How long a client may take until it sends its first message once more."""
_SESSION = schema.session.c


class UndeliveredSessions:
    """The conversations of a user; ``transaction`` opens a database transaction."""

    def __init__(self, transaction: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._transaction = transaction

    def note(self, session_id: str, mark: str) -> None:
        """Notes that the client of a session's last question waits. ``mark``: the number of the turn, or of a first
        question what it asked (``mark_first_message``); empty: the client has its answer. Raises ``SessionUnknown``."""
        with self._transaction() as connection:
            own = build_owner_condition(connection, _SESSION.owner)
            change = update(schema.session).where(_SESSION.id == session_id, own).values(undelivered=mark)
            if not connection.execute(change).rowcount:
                raise SessionUnknown(session=session_id)

    def settle(self, session_id: str, mark: str) -> None:
        """Notes that the client which waited under this mark has its answer; leaves the mark of a later one. Raises
        ``SessionUnknown``."""
        with self._transaction() as connection:
            check_session(connection, session_id)
            own = (_SESSION.id == session_id, _SESSION.undelivered == mark)
            connection.execute(update(schema.session).where(*own).values(undelivered=""))

    def is_noted(self, session_id: str, number: int) -> bool:
        """Returns whether the client of a session's last turn waits. ``number``: of the turn; in a story the id of its
        node. Raises ``SessionUnknown``."""
        with self._transaction() as connection:
            check_session(connection, session_id)
            mark = connection.execute(select(_SESSION.undelivered).where(_SESSION.id == session_id)).scalar_one()
        return mark == str(number) or len(mark) > MOST_DIGITS

    def find(self, mark: str) -> list[str]:
        """Returns the sessions whose clients wait for the answer to this first question, the last used first. Who waits
        longer than ``WAITING_SECONDS`` waits no more: the same words begin another conversation then."""
        with self._transaction() as connection:
            here = (schema.UNDELIVERED, _SESSION.undelivered == mark, _SESSION.deleted.is_(None))
            is_awaited = _SESSION.updated > time.time() - WAITING_SECONDS
            query = select(_SESSION.id).where(*here, is_awaited, build_owner_condition(connection, _SESSION.owner))
            return list(connection.execute(query.order_by(_SESSION.updated.desc())).scalars())
