"""The summary ledger: every chunk summary that was ever made, with what it kept and lost (design §3, last item).

Rows are never removed; their ``status`` says whether they are in the context.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any

from sqlalchemy import Connection, func, insert, select, update

from errors import SessionUnknown
from store import schema
from store.record import Summary, SummaryStatus

_TABLE = schema.summary


class Ledger:
    """Summaries of all sessions; ``transaction`` opens a database transaction."""

    def __init__(self, transaction: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._transaction = transaction

    def add(self, session_id: str, turns: list[int], rate: float, status: SummaryStatus, **fields: Any) -> int:
        """Adds a version of the summary of these turns; returns its id. ``SessionUnknown`` when it was deleted.

        ``fields``: record, ahead, origin, model, prompt_tokens, answer_tokens, seconds, kept, lost, error.
        """
        row = {"origin": "auto", "ahead": False, **fields, "created": time.time()}
        row |= {"session_id": session_id, "first_turn": turns[0], "turns": turns, "rate": rate}
        chunk = (_TABLE.c.session_id == session_id, _TABLE.c.first_turn == turns[0])
        newest = select(func.coalesce(func.max(_TABLE.c.version), 0) + 1).where(*chunk).scalar_subquery()
        with self._transaction() as connection:
            if not connection.execute(select(schema.session.c.id).where(schema.session.c.id == session_id)).first():
                raise SessionUnknown(session=session_id)
            if status == "ready" and self._counts(connection, chunk):
                status = "superseded"  # it came late: another version is in the context already
            elif status in ("ready", "active"):
                stale = update(_TABLE).where(*chunk, _TABLE.c.status.in_(("ready", "active", "failed")))
                connection.execute(stale.values(status="superseded"))
            added = connection.execute(insert(_TABLE).values(version=newest, status=status, **row))
        return int(added.inserted_primary_key[0])  # type: ignore[index]

    @staticmethod
    def _counts(connection: Connection, chunk: tuple[Any, ...]) -> bool:
        """Whether a version of this chunk is in the context, or was."""
        known = select(_TABLE.c.id).where(*chunk, _TABLE.c.status.in_(("active", "retired")))
        return connection.execute(known.limit(1)).first() is not None

    def fail(self, session_id: str, turns: list[int], rate: float, error: dict[str, Any], ahead: bool = False) -> None:
        """Notes a failed attempt; one row per chunk says the latest failure, so retries do not pile up."""
        with self._transaction() as connection:
            chunk = (_TABLE.c.session_id == session_id, _TABLE.c.first_turn == turns[0], _TABLE.c.status == "failed")
            again = update(_TABLE).where(*chunk).values(error=error, rate=rate, created=time.time())
            known = connection.execute(again).rowcount
        if not known:
            self.add(session_id, turns, rate, "failed", error=error, ahead=ahead)

    def ready(self, session_id: str, turns: list[int], rate: float) -> Summary | None:
        """The summary made ahead for exactly these turns at this rate, or None."""
        wanted = select(_TABLE).where(
            _TABLE.c.session_id == session_id, _TABLE.c.first_turn == turns[0], _TABLE.c.status.in_(("ready", "active"))
        )
        with self._transaction() as connection:
            row = connection.execute(wanted.order_by(_TABLE.c.version.desc()).limit(1)).one_or_none()
        found = _summary(row) if row is not None else None
        return found if found and found.turns == turns and abs(found.rate - rate) < 1e-9 else None

    def set_status(self, ids: Iterable[int], status: SummaryStatus) -> None:
        with self._transaction() as connection:
            connection.execute(update(_TABLE).where(_TABLE.c.id.in_(list(ids))).values(status=status))

    def retire(self, session_id: str, before_turn: int) -> None:
        """The active summaries that start before this turn have left the context."""
        old = (_TABLE.c.session_id == session_id, _TABLE.c.first_turn < before_turn, _TABLE.c.status == "active")
        with self._transaction() as connection:
            connection.execute(update(_TABLE).where(*old).values(status="retired"))

    def summaries(self, session_id: str, limit: int = 200, superseded: bool = False) -> list[Summary]:
        """The newest ``limit`` rows, oldest turns first; superseded versions only when asked for."""
        wanted = select(_TABLE).where(_TABLE.c.session_id == session_id)
        if not superseded:
            wanted = wanted.where(_TABLE.c.status != "superseded")
        wanted = wanted.order_by(_TABLE.c.first_turn.desc(), _TABLE.c.version.desc()).limit(limit)
        with self._transaction() as connection:
            return [_summary(row) for row in connection.execute(wanted)][::-1]


def _summary(row: Any) -> Summary:
    values = {name: value for name, value in row._mapping.items() if name != "first_turn"}
    return Summary(**{**values, "kept": values["kept"] or [], "lost": values["lost"] or []})
