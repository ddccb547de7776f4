"""What the model calls of a user's conversations took and saved, read from the rows of their turns, summaries and side
calls."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from typing import Any, Literal

from sqlalchemy import JSON, ColumnElement, Connection, Text, cast, func, insert, select, type_coerce

from store.database import memory_table, schema
from store.owner import build_owner_condition, check_session
from store.session.session_path import lock_session_row

SideWork = Literal["tracker", "curator", "aside", "title"]
Work = Literal["answer", "summary", "memory"] | SideWork
_TURN, _SUMMARY, _SESSION, _CALL = schema.turn.c, schema.summary.c, schema.session.c, schema.side_call.c
_VERSION = memory_table.version.c


@dataclass(frozen=True, slots=True)
class UsageRow:
    """The calls of one turn, of one summary or version of memory that a model wrote, or of one piece of side work.
    ``moment``: Unix seconds. ``model``: empty in rows of versions that did not note it. ``usd``: None where the price
    is not known, or was not noted by the version that wrote the row. ``saved_tokens``: what the last prompt was shorter
    by than with the whole history; ``cache_usd``: what the provider's cache saved."""

    moment: float
    session_id: str
    title: str
    work: Work
    model: str
    prompt_tokens: int
    cached_tokens: int
    answer_tokens: int
    usd: float | None
    saved_tokens: int = 0
    cache_usd: float = 0.0


@dataclass(frozen=True, slots=True)
class SideUsage:
    """What calls beside the answers took: of the tracker, which reads what a turn of a story changed, of its curator,
    of a side question or of a title, which leave no other row. ``usd``: None where the price is not known;
    ``cache_usd``: what the provider's cache saved."""

    work: SideWork
    model: str
    prompt_tokens: int
    cached_tokens: int
    answer_tokens: int
    usd: float | None
    cache_usd: float = 0.0


class Usages:
    """The usage of a store's user; ``transaction`` opens a database transaction."""

    def __init__(self, transaction: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._transaction = transaction

    def read_since(self, moment: float) -> list[UsageRow]:
        """Returns what was used since a moment (Unix seconds), oldest first: by every version of a turn, also in
        conversations that were put away, and not by turns and summaries that were copied or came out of a file.

        Takes one query for turns, one for summaries, one for versions of memory and one for side calls; each reads only
        rows of this time.
        """
        with self._transaction() as connection:
            kinds = (_read_turn_usage, _read_written_summaries, _read_written_memory, _read_side_calls)
            rows = [row for read in kinds for row in read(connection, moment)]
        return sorted(rows, key=lambda row: row.moment)

    def note(self, session_id: str, used: SideUsage) -> None:
        """Stores what calls beside the answers of a conversation took, now. Raises ``SessionUnknown``."""
        with self._transaction() as connection:
            check_session(connection, session_id)
            write_side_usage(connection, session_id, used)


def write_side_usage(connection: Connection, session_id: str, used: SideUsage) -> None:
    """Writes what calls beside the answers of a conversation took, now; nothing where it was removed meanwhile. The
    caller has asked whose it is."""
    if not lock_session_row(connection, session_id):  # unlocked, it could be removed before this row is seen
        return
    connection.execute(insert(schema.side_call), {"session_id": session_id, "at": time.time(), **asdict(used)})


def _read_turn_usage(connection: Connection, moment: float) -> list[UsageRow]:
    full, sent = (_number_in_report(connection, name) for name in ("full_tokens", "total_tokens"))
    query = (
        select(_TURN.started, _TURN.session_id, _SESSION.title, _TURN.usage, full.label("full"), sent.label("sent"))
        .join(schema.session, _SESSION.id == _TURN.session_id)
        .where(_TURN.started >= moment, _TURN.usage.is_not(None), _TURN.is_imported.is_(False))
        .where(_TURN.started >= _SESSION.created, _TURN.is_copy.is_(False))  # copies count where they were made
        .where(build_owner_condition(connection, _SESSION.owner))
    )
    return [_usage_of_turn(row) for row in connection.execute(query)]


def _number_in_report(connection: Connection, name: str) -> ColumnElement[Any]:
    """Returns a number of a turn's report, so that the whole report is not read."""
    report = type_coerce(_TURN.report, Text)
    if connection.dialect.name == "sqlite":
        return func.json_extract(report, f"$.{name}")
    return func.json_extract_path_text(cast(report, JSON), name)


def _usage_of_turn(row: Any) -> UsageRow:
    used: dict[str, Any] = row.usage
    return UsageRow(
        row.started,
        row.session_id,
        row.title,
        "answer",
        str(used.get("model") or ""),
        int(used.get("prompt_tokens") or 0),
        int(used.get("cached_tokens") or 0),
        int(used.get("answer_tokens") or 0),
        used.get("usd"),
        max(0, int(row.full or 0) - int(row.sent or 0)),
        float(used.get("cache_usd") or 0.0),
    )


def _read_written_summaries(connection: Connection, moment: float) -> list[UsageRow]:
    columns = (_SUMMARY.created, _SUMMARY.session_id, _SESSION.title, _SUMMARY.model)
    counts = (
        *(_SUMMARY.prompt_tokens, _SUMMARY.cached_tokens, _SUMMARY.answer_tokens),
        *(_SUMMARY.usd, _SUMMARY.cache_usd),
    )
    query = (
        select(*columns, *counts)
        .join(schema.session, _SESSION.id == _SUMMARY.session_id)
        .where(_SUMMARY.created >= moment, _SUMMARY.prompt_tokens > 0, _SUMMARY.is_counted)
        .where(build_owner_condition(connection, _SESSION.owner))
    )
    return [
        UsageRow(
            *(row.created, row.session_id, row.title, "summary", row.model or ""),
            *(row.prompt_tokens, row.cached_tokens, row.answer_tokens, row.usd),
            cache_usd=row.cache_usd,
        )
        for row in connection.execute(query)
    ]


def _read_written_memory(connection: Connection, moment: float) -> list[UsageRow]:
    """Returns the versions of memory that a model wrote, each with the tries before it that were rejected."""
    query = (
        select(_VERSION.created, _VERSION.session, _SESSION.title, _VERSION.record)
        .join(schema.session, _SESSION.id == _VERSION.session)
        .where(_VERSION.created >= moment, _VERSION.created >= _SESSION.created)
        .where(build_owner_condition(connection, _SESSION.owner))
    )
    found = [(row, dict(row.record.get("cost") or {})) for row in connection.execute(query)]
    return [
        UsageRow(
            *(row.created, row.session, row.title, "memory", str(cost.get("model") or "")),
            *(int(cost["prompt_tokens"]), int(cost.get("cached_tokens") or 0), int(cost.get("answer_tokens") or 0)),
            cost.get("usd"),
            cache_usd=float(cost.get("cache_usd") or 0.0),
        )
        for row, cost in found
        if cost.get("prompt_tokens")
    ]


def _read_side_calls(connection: Connection, moment: float) -> list[UsageRow]:
    columns = (_CALL.at, _CALL.session_id, _SESSION.title, _CALL.work, _CALL.model)
    counts = (_CALL.prompt_tokens, _CALL.cached_tokens, _CALL.answer_tokens, _CALL.usd, _CALL.cache_usd)
    query = (
        select(*columns, *counts)
        .join(schema.session, _SESSION.id == _CALL.session_id)
        .where(_CALL.at >= moment)
        .where(build_owner_condition(connection, _SESSION.owner))
    )
    return [UsageRow(*row[:9], cache_usd=row.cache_usd) for row in connection.execute(query)]
