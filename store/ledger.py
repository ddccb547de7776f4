"""The summary ledger: every chunk summary that was ever made, with what it kept and lost (design §3, last item).

Rows are never removed; their ``status`` says whether they are in the context.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any

from sqlalchemy import Connection, bindparam, func, insert, select, update

from errors import SessionUnknown
from store import schema
from store.path import TRUNK, Path, branch_at, on_path, plain
from store.record import Summary, SummaryStatus

_TABLE = schema.summary
_PATH = select(schema.session.c.path).where(schema.session.c.id == bindparam("session"))
_HERE = (
    _TABLE.c.session_id == bindparam("session"),
    _TABLE.c.branch == bindparam("in_branch"),
    _TABLE.c.first_turn == bindparam("first"),
)
_KNOWN = select(_TABLE.c.status).where(*_HERE)
_NEWEST = insert(_TABLE).values(
    version=select(func.coalesce(func.max(_TABLE.c.version), 0) + 1).where(*_HERE).scalar_subquery()
)
_STALE = update(_TABLE).where(*_HERE, _TABLE.c.status.in_(("ready", "active", "failed"))).values(status="superseded")
_READY = (
    select(_TABLE).where(*_HERE, _TABLE.c.status.in_(("ready", "active"))).order_by(_TABLE.c.version.desc()).limit(1)
)
_TAKEN = update(_TABLE).where(_TABLE.c.id == bindparam("taken")).values(status="active")


class Ledger:
    """Summaries of all sessions; ``transaction`` opens a database transaction."""

    def __init__(self, transaction: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._transaction = transaction

    def add(
        self,
        session_id: str,
        turns: list[int],
        rate: float,
        status: SummaryStatus,
        branch: int | None = None,
        **fields: Any,
    ) -> int:
        """Adds a version of the summary of these turns; returns its id. ``SessionUnknown`` when it was deleted.

        ``branch``: the one that the turns end on, by default on the present path. ``fields``: record, ahead, origin,
        model, prompt_tokens, answer_tokens, seconds, kept, lost, error.
        """
        row = {"origin": "auto", "ahead": False, **fields, "created": time.time()}
        row |= {"session_id": session_id, "first_turn": turns[0], "last_turn": turns[-1], "turns": turns, "rate": rate}
        with self._transaction() as connection:
            path = connection.execute(_PATH, {"session": session_id}).scalar_one_or_none()
            if path is None:
                raise SessionUnknown(session=session_id)
            row["branch"] = branch_at(plain(path), turns[-1]) if branch is None else branch
            place = _place(session_id, row["branch"], turns[0])
            known = set(connection.execute(_KNOWN, place).scalars())
            if status == "ready" and known & {"active", "retired"}:
                status = "superseded"  # it came late: another version is in the context already
            elif status in ("ready", "active") and known:
                connection.execute(_STALE, place)
            added = connection.execute(_NEWEST, {**place, "status": status, **row})
        return int(added.inserted_primary_key[0])  # type: ignore[index]

    def replace(self, session_id: str, turns: list[int], rate: float, status: SummaryStatus, **fields: Any) -> int:
        """Adds a version in the place of the one that counts, with that one's ``status``; returns its id."""
        with self._transaction() as connection:
            branch = branch_at(path_of(connection, session_id), turns[-1])
            counts = _TABLE.c.status.in_(("ready", "active", "retired"))
            stale = update(_TABLE).where(*_chunk(session_id, branch, turns[0]), counts)
            connection.execute(stale.values(status="superseded"))
        return self.add(session_id, turns, rate, status, **fields)

    def fail(
        self,
        session_id: str,
        turns: list[int],
        rate: float,
        error: dict[str, Any],
        ahead: bool = False,
        branch: int | None = None,
    ) -> None:
        """Notes a failed attempt; one row per chunk says the latest failure, so retries do not pile up."""
        with self._transaction() as connection:
            branch = branch_at(path_of(connection, session_id), turns[-1]) if branch is None else branch
            chunk = _chunk(session_id, branch, turns[0])
            again = (
                update(_TABLE)
                .where(*chunk, _TABLE.c.status == "failed")
                .values(error=error, rate=rate, ahead=ahead, created=time.time())
            )
            known = connection.execute(again).rowcount
        if not known:
            self.add(session_id, turns, rate, "failed", branch, error=error, ahead=ahead)

    def hopeless(self, session_id: str, turns: list[int], branch: int | None = None) -> bool:
        """Whether an attempt at a summary of these turns has failed, none has succeeded since, and its error says
        ``hopeless``: another attempt will most likely fail too."""
        with self._transaction() as connection:
            branch = branch_at(path_of(connection, session_id), turns[-1]) if branch is None else branch
            wanted = select(_TABLE.c.error).where(*_chunk(session_id, branch, turns[0]), _TABLE.c.status == "failed")
            error = connection.execute(wanted.limit(1)).scalar()
        return bool(error and error.get("hopeless"))

    def ready(self, session_id: str, turns: list[int], rate: float) -> Summary | None:
        """The summary made ahead for exactly these turns at this rate, or None."""
        with self._transaction() as connection:
            return _ready(connection, session_id, turns, rate)

    def take(self, session_id: str, turns: list[int], rate: float) -> Summary | None:
        """What is ``ready``, which from now on is in the context."""
        with self._transaction() as connection:
            found = _ready(connection, session_id, turns, rate)
            if found is not None:
                connection.execute(_TAKEN, {"taken": found.id})
        return found

    def on_path(self, session_id: str, last_turn: int) -> list[Summary]:
        """The summaries that count, of turns up to ``last_turn``, oldest first: what a state is made from."""
        counts = _TABLE.c.status.in_(("active", "retired"))
        with self._transaction() as connection:
            wanted = select(_TABLE).where(*_here(connection, session_id), counts, _TABLE.c.last_turn <= last_turn)
            return [_summary(row) for row in connection.execute(wanted.order_by(_TABLE.c.first_turn))]

    def set_status(self, ids: Iterable[int], status: SummaryStatus) -> None:
        with self._transaction() as connection:
            connection.execute(update(_TABLE).where(_TABLE.c.id.in_(list(ids))).values(status=status))

    def retire(self, session_id: str, before_turn: int) -> None:
        """The active summaries that start before this turn have left the context."""
        with self._transaction() as connection:
            old = (*_here(connection, session_id), _TABLE.c.first_turn < before_turn, _TABLE.c.status == "active")
            connection.execute(update(_TABLE).where(*old).values(status="retired"))

    def versions(self, session_id: str, first_turn: int) -> list[Summary]:
        """All versions of one chunk's summary, oldest first."""
        with self._transaction() as connection:
            wanted = select(_TABLE).where(*_here(connection, session_id), _TABLE.c.first_turn == first_turn)
            return [_summary(row) for row in connection.execute(wanted.order_by(_TABLE.c.version))]

    def choose(self, session_id: str, first_turn: int, version: int) -> None:
        """Puts an older version of a summary back into the place of the one that counts (undo)."""
        with self._transaction() as connection:
            chunk = (*_here(connection, session_id), _TABLE.c.first_turn == first_turn)
            counts = _TABLE.c.status.in_(("ready", "active", "retired"))
            status = connection.execute(select(_TABLE.c.status).where(*chunk, counts)).scalars().first() or "active"
            connection.execute(update(_TABLE).where(*chunk, counts).values(status="superseded"))
            connection.execute(update(_TABLE).where(*chunk, _TABLE.c.version == version).values(status=status))

    def summaries(self, session_id: str, limit: int = 200, superseded: bool = False) -> list[Summary]:
        """The newest ``limit`` rows, oldest turns first; superseded versions only when asked for."""
        with self._transaction() as connection:
            wanted = select(_TABLE).where(*_here(connection, session_id))
            if not superseded:
                wanted = wanted.where(_TABLE.c.status != "superseded")
            wanted = wanted.order_by(_TABLE.c.first_turn.desc(), _TABLE.c.version.desc()).limit(limit)
            return [_summary(row) for row in connection.execute(wanted)][::-1]

    def records(self, session_id: str) -> list[dict[str, Any] | None]:
        """The record of every summary that counts, oldest turns first; None for a failed attempt.

        Costs a tenth of ``summaries``: the panel adds up all of them in every run of the page.
        """
        with self._transaction() as connection:
            wanted = select(_TABLE.c.record).where(*_here(connection, session_id), _TABLE.c.status != "superseded")
            return list(connection.execute(wanted.order_by(_TABLE.c.first_turn, _TABLE.c.version)).scalars())


def path_of(connection: Connection, session_id: str) -> Path:
    """The session's path; the trunk for a session that is not known here."""
    stored = connection.execute(_PATH, {"session": session_id}).scalar_one_or_none()
    return plain(stored) if stored else TRUNK


def _ready(connection: Connection, session_id: str, turns: list[int], rate: float) -> Summary | None:
    branch = branch_at(path_of(connection, session_id), turns[-1])
    row = connection.execute(_READY, _place(session_id, branch, turns[0])).one_or_none()
    found = _summary(row) if row is not None else None
    return found if found and found.turns == turns and abs(found.rate - rate) < 1e-9 else None


def _here(connection: Connection, session_id: str) -> tuple[Any, ...]:
    """The summaries whose turns lie on the session's path."""
    path = path_of(connection, session_id)
    return _TABLE.c.session_id == session_id, on_path(_TABLE.c.branch, _TABLE.c.last_turn, path)


def _chunk(session_id: str, branch: int, first_turn: int) -> tuple[Any, ...]:
    return _TABLE.c.session_id == session_id, _TABLE.c.branch == branch, _TABLE.c.first_turn == first_turn


def _place(session_id: str, branch: int, first_turn: int) -> dict[str, Any]:
    """Values of the prepared statements about one chunk."""
    return {"session": session_id, "in_branch": branch, "first": first_turn}


def _summary(row: Any) -> Summary:
    values = {name: value for name, value in row._mapping.items() if name not in ("first_turn", "last_turn")}
    return Summary(**{**values, "kept": values["kept"] or [], "lost": values["lost"] or []})
