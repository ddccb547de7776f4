"""The summary ledger: every chunk summary that was ever made, with the facts it kept and lost (design 3.7).

Rows are never removed; their ``status`` says whether a summary is in the context.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from sqlalchemy import Connection, Executable, and_, bindparam, func, insert, select, update

from errors import SessionUnknown, redact_json_data
from store.database import schema
from store.owner import check_session_owner, in_mine
from store.path import Path, branch_at, on_path, parse_path
from store.record import SummaryRow, SummaryStatus

_TABLE = schema.summary
_PATH = select(schema.session.c.path, schema.session.c.owner).where(schema.session.c.id == bindparam("session"))
_CLAIMED = (
    update(schema.session)
    .where(schema.session.c.id == bindparam("session"))
    .values(path=schema.session.c.path)
    .returning(schema.session.c.path, schema.session.c.owner)
)
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
_SESSION = schema.session.c
_CHUNK = (
    select(_TABLE, _SESSION.path, _SESSION.owner)
    .select_from(
        schema.session.outerjoin(
            _TABLE,
            and_(
                _TABLE.c.session_id == _SESSION.id,
                _TABLE.c.branch.in_(select(schema.branch.c.id).where(schema.branch.c.session_id == _SESSION.id)),
                _TABLE.c.first_turn == bindparam("first"),
                _TABLE.c.status.in_(bindparam("statuses", expanding=True)),
            ),
        )
    )
    .where(_SESSION.id == bindparam("session"))
    .order_by(_TABLE.c.version.desc())
)
_TAKEN = (
    update(_TABLE)
    .where(_TABLE.c.id == bindparam("taken"), _TABLE.c.status.in_(("ready", "active")))
    .values(status="active")
)


VALID: tuple[SummaryStatus, ...] = ("ready", "active", "retired")
"""A chunk has at most one summary of these."""
TAKEN: tuple[SummaryStatus, ...] = ("active", "retired")
"""Of these the next turn makes none anew when the rate has changed."""


class Ledger:
    """Summaries of all sessions; ``transaction`` opens a database transaction.

    A chunk has at most one valid summary (ready, active or retired), even when several processes write: a process that
    adds a summary holds the lock of the session's row until its transaction ends (``_claim_session_path``).
    """

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
        """Adds a version of the summary of these turns; returns the version's id.

        ``branch``: the branch of the last turn, by default the one on the session's path. ``fields``: record, ahead,
        origin, hint, model, prompt_tokens, cached_tokens, answer_tokens, usd, cache_usd, seconds, kept, lost, error,
        is_counted.
        Raises ``SessionUnknown`` when the session was deleted.
        """
        with self._transaction() as connection:
            path = _claim_session_path(connection, session_id)
            last_branch = branch_at(path, turns[-1]) if branch is None else branch
            return _add_summary(connection, session_id, last_branch, turns, rate, status, fields)

    def add_missing(self, session_id: str, rate: float, made: Sequence[tuple[list[int], dict[str, Any]]]) -> int:
        """Adds summaries of chunks on the session's path to the context, except of chunks that have one by now; returns
        how many. ``made``: the turns of each chunk, and its fields as in ``add``.

        One transaction with a fixed number of statements, however many summaries there are. Raises ``SessionUnknown``.
        """
        if not made:
            return 0
        with self._transaction() as connection:
            path = _claim_session_path(connection, session_id)
            chunks = {(branch_at(path, turns[-1]), turns[0]): (turns, fields) for turns, fields in made}
            known = [
                row
                for row in _list_chunk_versions(connection, session_id, made)
                if (row.branch, row.first_turn) in chunks
            ]
            versions = {(row.branch, row.first_turn): row.version for row in known}
            for row in known:
                if row.status in VALID:
                    chunks.pop((row.branch, row.first_turn), None)
            failed = [row.id for row in known if row.status == "failed" and (row.branch, row.first_turn) in chunks]
            if failed:
                connection.execute(update(_TABLE).where(_TABLE.c.id.in_(failed)).values(status="superseded"))
            base = {"session_id": session_id, "rate": rate, "status": "active", "ahead": False, "created": time.time()}
            rows = [
                {**base, "branch": branch, "first_turn": first, "last_turn": turns[-1], "turns": turns}
                | {"version": versions.get((branch, first), 0) + 1, **fields}
                for (branch, first), (turns, fields) in chunks.items()
            ]
            if rows:
                connection.execute(insert(_TABLE), rows)
        return len(rows)

    def find_chunks(self, session_id: str) -> dict[int, int]:
        """Returns the chunks on the session's path that have a valid summary: the last turn of each by its first."""
        columns = (_TABLE.c.first_turn, _TABLE.c.last_turn)
        with self._transaction() as connection:
            query = select(*columns).where(*_build_path_condition(connection, session_id), _TABLE.c.status.in_(VALID))
            return {row.first_turn: row.last_turn for row in connection.execute(query)}

    def find_contested(self, session_id: str, chunks: Sequence[list[int]], size: int) -> list[list[int]]:
        """Returns those of these chunks on the session's path that may have no summary, for another path needs the
        place: their branch has a valid summary of other turns that begins there, or goes on off the path behind one
        that is shorter than ``size``."""
        summary, turn = _TABLE.c, schema.turn.c
        with self._transaction() as connection:
            path = path_of(connection, session_id)
            valid = select(summary.branch, summary.first_turn, summary.turns).where(
                summary.session_id == session_id,
                summary.first_turn.in_([chunk[0] for chunk in chunks]),
                summary.status.in_(VALID),
            )
            rows = connection.execute(valid).all() if chunks else []
            ends = [chunk[-1] + 1 for chunk in chunks if len(chunk) < size]
            after = select(turn.branch, turn.number).where(turn.session_id == session_id, turn.number.in_(ends))
            following = {(row.branch, row.number) for row in connection.execute(after)} if ends else set()

        def is_contested(chunk: list[int]) -> bool:
            branch, after = branch_at(path, chunk[-1]), chunk[-1] + 1
            goes_on = len(chunk) < size and (branch, after) in following and branch_at(path, after) != branch
            here = [row.turns for row in rows if (row.branch, row.first_turn) == (branch, chunk[0])]
            return goes_on or any(turns != chunk for turns in here)

        return [chunk for chunk in chunks if is_contested(chunk)]

    def find_extracted(self, session_id: str) -> list[SummaryRow]:
        """Returns the valid summaries on the session's path that code extracted, oldest first."""
        wanted = (_TABLE.c.status.in_(VALID), _TABLE.c.origin == "extracted")
        with self._transaction() as connection:
            query = (
                select(_TABLE)
                .where(*_build_path_condition(connection, session_id), *wanted)
                .order_by(_TABLE.c.first_turn)
            )
            return [_build_summary(row) for row in connection.execute(query)]

    def count_extracted(self, session_id: str) -> int:
        """Returns how many summaries ``find_extracted`` returns."""
        wanted = (_TABLE.c.status.in_(VALID), _TABLE.c.origin == "extracted")
        with self._transaction() as connection:
            query = select(func.count()).where(*_build_path_condition(connection, session_id), *wanted)
            return int(connection.execute(query).scalar_one())

    def find_at_other_rates(self, session_id: str, rate: float) -> list[SummaryRow]:
        """Returns the summaries of the session's path that are or were in the context and were made at another rate,
        oldest first, except those in the user's own words. One that only waits is made anew anyway."""
        other = ~_TABLE.c.rate.between(rate - 1e-6, rate + 1e-6)
        wanted = (_TABLE.c.status.in_(TAKEN), _TABLE.c.origin != "edited", other)
        with self._transaction() as connection:
            query = (
                select(_TABLE)
                .where(*_build_path_condition(connection, session_id), *wanted)
                .order_by(_TABLE.c.first_turn)
            )
            return [_build_summary(row) for row in connection.execute(query)]

    def count_rates(self, session_id: str) -> dict[float, int]:
        """Returns how many of the summaries that ``find_at_other_rates`` looks at were made at each rate."""
        wanted = (_TABLE.c.status.in_(TAKEN), _TABLE.c.origin != "edited")
        with self._transaction() as connection:
            query = select(_TABLE.c.rate, func.count().label("made")).where(
                *_build_path_condition(connection, session_id), *wanted
            )
            return {row.rate: row.made for row in connection.execute(query.group_by(_TABLE.c.rate))}

    def replace(
        self,
        session_id: str,
        turns: list[int],
        rate: float,
        status: SummaryStatus,
        replaced: int | None = None,
        **fields: Any,
    ) -> int | None:
        """Adds a version in place of the valid one; returns the new version's id. ``status``: the status of the
        replaced version, which the new version takes over.

        ``replaced``: the id of the version that must be the valid one still, else nothing changes and None is returned.
        Raises ``SessionUnknown``.
        """
        with self._transaction() as connection:
            path = _claim_session_path(connection, session_id)
            branch = branch_at(path, turns[-1])
            counts = _TABLE.c.status.in_(VALID)
            chunk = _build_chunk_condition(session_id, branch, turns[0])
            if replaced is not None:
                now = connection.execute(select(_TABLE.c.id, _TABLE.c.status).where(*chunk, counts)).one_or_none()
                if now is None or now.id != replaced:
                    return None
                status = now.status
            stale = update(_TABLE).where(*chunk, counts)
            connection.execute(stale.values(status="superseded"))
            return _add_summary(connection, session_id, branch, turns, rate, status, fields)

    def fail(
        self,
        session_id: str,
        turns: list[int],
        rate: float,
        error: dict[str, Any],
        ahead: bool = False,
        branch: int | None = None,
    ) -> None:
        """Records a failed attempt. A chunk has one row for its latest failure, so retries do not pile up.

        Raises ``SessionUnknown``.
        """
        with self._transaction() as connection:
            path = _claim_session_path(connection, session_id)
            last_branch = branch_at(path, turns[-1]) if branch is None else branch
            change = (
                update(_TABLE)
                .where(*_build_chunk_condition(session_id, last_branch, turns[0]), _TABLE.c.status == "failed")
                .values(error=error, rate=rate, ahead=ahead, created=time.time())
            )
            if not connection.execute(change).rowcount:
                fields = {"error": error, "ahead": ahead}
                _add_summary(connection, session_id, last_branch, turns, rate, "failed", fields)

    def find_failure(self, session_id: str, turns: list[int], branch: int | None = None) -> dict[str, Any] | None:
        """Returns the error of the latest attempt at a summary of these turns; None when none has failed since one
        succeeded. ``branch``: as in ``add``. Raises ``SessionUnknown``.
        """
        with self._transaction() as connection:
            rows = _read_chunk(connection, session_id, turns[0], ("failed",))
        last_branch = branch_at(parse_path(rows[0].path), turns[-1]) if branch is None else branch
        return next((row.error for row in rows if row.branch == last_branch), None)

    def ready(self, session_id: str, turns: list[int], rate: float) -> SummaryRow | None:
        """Returns the summary made ahead for exactly these turns at this rate, or None."""
        with self._transaction() as connection:
            return _find_ready_summary(connection, session_id, turns, rate)

    def take(self, session_id: str, turns: list[int], rate: float) -> SummaryRow | None:
        """Marks the summary that ``ready`` returns as part of the context and returns the summary. Returns None when
        there is none or another version has replaced it.
        """
        with self._transaction() as connection:
            summary = _find_ready_summary(connection, session_id, turns, rate)
            if summary is None or not connection.execute(_TAKEN, {"taken": summary.id}).rowcount:
                return None
        return summary

    def on_path(self, session_id: str, last_turn: int) -> list[SummaryRow]:
        """Returns the active and retired summaries of turns up to ``last_turn``, oldest first, to make a state from."""
        counts = _TABLE.c.status.in_(("active", "retired"))
        with self._transaction() as connection:
            query = select(_TABLE).where(
                *_build_path_condition(connection, session_id), counts, _TABLE.c.last_turn <= last_turn
            )
            return [_build_summary(row) for row in connection.execute(query.order_by(_TABLE.c.first_turn))]

    def set_status(self, ids: Iterable[int], status: SummaryStatus) -> None:
        """Sets the status of these rows; skips rows of another user's sessions."""
        with self._transaction() as connection:
            rows = (_TABLE.c.id.in_(list(ids)), in_mine(connection, _TABLE.c.session_id))
            connection.execute(update(_TABLE).where(*rows).values(status=status))

    def retire(self, session_id: str, before_turn: int) -> None:
        """Marks the active summaries that start before turn ``before_turn`` as retired: they have left the context."""
        with self._transaction() as connection:
            old = (
                *_build_path_condition(connection, session_id),
                _TABLE.c.first_turn < before_turn,
                _TABLE.c.status == "active",
            )
            connection.execute(update(_TABLE).where(*old).values(status="retired"))

    def versions(self, session_id: str, first_turn: int) -> list[SummaryRow]:
        """Returns all versions of one chunk's summary, oldest first."""
        with self._transaction() as connection:
            query = select(_TABLE).where(
                *_build_path_condition(connection, session_id), _TABLE.c.first_turn == first_turn
            )
            return [_build_summary(row) for row in connection.execute(query.order_by(_TABLE.c.version))]

    def choose(self, session_id: str, first_turn: int, version: int) -> None:
        """Makes an older version of a summary the valid one again (undo).

        Raises ``SessionUnknown``.
        """
        with self._transaction() as connection:
            _claim_session_path(connection, session_id)
            chunk = (*_build_path_condition(connection, session_id), _TABLE.c.first_turn == first_turn)
            counts = _TABLE.c.status.in_(VALID)
            status = connection.execute(select(_TABLE.c.status).where(*chunk, counts)).scalars().first() or "active"
            connection.execute(update(_TABLE).where(*chunk, counts).values(status="superseded"))
            connection.execute(update(_TABLE).where(*chunk, _TABLE.c.version == version).values(status=status))

    def summaries(self, session_id: str, limit: int = 200, superseded: bool = False) -> list[SummaryRow]:
        """Returns the newest ``limit`` rows, oldest turns first; superseded versions only with ``superseded``."""
        with self._transaction() as connection:
            query = select(_TABLE).where(*_build_path_condition(connection, session_id))
            if not superseded:
                query = query.where(_TABLE.c.status != "superseded")
            query = query.order_by(_TABLE.c.first_turn.desc(), _TABLE.c.version.desc()).limit(limit)
            return [_build_summary(row) for row in connection.execute(query)][::-1]

    def records(self, session_id: str) -> list[dict[str, Any] | None]:
        """Returns the record of every summary that is not superseded, oldest turns first; None for a failed attempt.

        Costs a tenth of ``summaries``: the panel adds up all records in every run of the page.
        """
        with self._transaction() as connection:
            query = select(_TABLE.c.record).where(
                *_build_path_condition(connection, session_id), _TABLE.c.status != "superseded"
            )
            return list(connection.execute(query.order_by(_TABLE.c.first_turn, _TABLE.c.version)).scalars())


def path_of(connection: Connection, session_id: str) -> Path:
    """Returns the session's path. Raises ``SessionUnknown``."""
    return _load_owned_path(connection, _PATH, session_id)


def _claim_session_path(connection: Connection, session_id: str) -> Path:
    """Returns the session's path. Until the transaction ends, no other process can add a summary to the session.

    The first statement writes the stored path again unchanged: SQLite then holds its only write lock before any
    statement reads, and PostgreSQL holds the lock of the row. A ``SELECT … FOR UPDATE`` would lock nothing on SQLite.
    Raises ``SessionUnknown``.
    """
    return _load_owned_path(connection, _CLAIMED, session_id)


def _load_owned_path(connection: Connection, statement: Executable, session_id: str) -> Path:
    row = connection.execute(statement, {"session": session_id}).one_or_none()
    if row is None:
        raise SessionUnknown(session=session_id)
    check_session_owner(connection, session_id, row.owner)
    return parse_path(row.path)


def _add_summary(
    connection: Connection,
    session_id: str,
    branch: int,
    turns: list[int],
    rate: float,
    status: SummaryStatus,
    fields: dict[str, Any],
) -> int:
    """Adds a version of the summary of these turns; returns the version's id. The caller has claimed the session."""
    row = {"origin": "auto", "ahead": False, **fields, "created": time.time(), "turns": turns, "rate": rate}
    row |= {"session_id": session_id, "branch": branch, "first_turn": turns[0], "last_turn": turns[-1]}
    place = _build_chunk_values(session_id, branch, turns[0])
    known = set(connection.execute(_KNOWN, place).scalars())
    if status == "ready" and known & {"active", "retired"}:
        status = "superseded"  # too late: another version is in the context already
    elif status in ("ready", "active") and known:
        connection.execute(_STALE, place)
    result = connection.execute(_NEWEST, {**place, **row, "status": status})
    return int(result.inserted_primary_key[0])  # type: ignore[index]


def _read_chunk(connection: Connection, session_id: str, first: int, statuses: Sequence[str]) -> Sequence[Any]:
    """Returns the rows of a chunk with these statuses, of whatever branch, newest versions first, each with the
    session's path; without such a row one that has only the path. Raises ``SessionUnknown``."""
    rows = connection.execute(_CHUNK, {"session": session_id, "first": first, "statuses": list(statuses)}).all()
    check_session_owner(connection, session_id, rows[0].owner if rows else None)
    return rows


def _find_ready_summary(connection: Connection, session_id: str, turns: list[int], rate: float) -> SummaryRow | None:
    rows = _read_chunk(connection, session_id, turns[0], ("ready", "active"))
    branch = branch_at(parse_path(rows[0].path), turns[-1])
    summary = next((_build_summary(row) for row in rows if row.branch == branch), None)
    return summary if summary and summary.turns == turns and abs(summary.rate - rate) < 1e-9 else None


def _build_path_condition(connection: Connection, session_id: str) -> tuple[Any, ...]:
    """Returns the condition for summaries whose turns lie on the session's path."""
    path = path_of(connection, session_id)
    return _TABLE.c.session_id == session_id, on_path(_TABLE.c.branch, _TABLE.c.last_turn, path)


def _list_chunk_versions(
    connection: Connection, session_id: str, made: Sequence[tuple[list[int], dict[str, Any]]]
) -> Sequence[Any]:
    """Returns place, version and status of all rows from the first of these chunks to the last, newest versions
    last."""
    firsts = [turns[0] for turns, _ in made]
    columns = (_TABLE.c.id, _TABLE.c.branch, _TABLE.c.first_turn, _TABLE.c.version, _TABLE.c.status)
    query = select(*columns).where(_TABLE.c.session_id == session_id)
    query = query.where(_TABLE.c.first_turn.between(min(firsts), max(firsts))).order_by(_TABLE.c.version)
    return connection.execute(query).all()


def _build_chunk_condition(session_id: str, branch: int, first_turn: int) -> tuple[Any, ...]:
    return _TABLE.c.session_id == session_id, _TABLE.c.branch == branch, _TABLE.c.first_turn == first_turn


def _build_chunk_values(session_id: str, branch: int, first_turn: int) -> dict[str, Any]:
    """Returns the values that name one chunk in the prepared statements."""
    return {"session": session_id, "in_branch": branch, "first": first_turn}


def _build_summary(row: Any) -> SummaryRow:
    values = {name: row._mapping[name] for name in SummaryRow.__slots__}
    values |= {"kept": values["kept"] or [], "lost": values["lost"] or [], "error": redact_json_data(values["error"])}
    return SummaryRow(**values)
