"""What the model calls of a user's conversations took and saved, read from the rows of their turns and summaries."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import JSON, ColumnElement, Connection, Text, cast, func, select, type_coerce

from store.database import schema
from store.owner import build_owner_condition

Work = Literal["answer", "summary"]
_TURN, _SUMMARY, _SESSION = schema.turn.c, schema.summary.c, schema.session.c


@dataclass(frozen=True, slots=True)
class UsageRow:
    """The calls of one turn, or of one summary that a model wrote. ``moment``: Unix seconds. ``model``: empty in rows
    of versions that did not note it. ``usd``: None where the price is not known. ``saved_tokens``: what the last prompt
    was shorter by than with the whole history; ``cache_usd``: what the provider's cache saved."""

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


class Usages:
    """The usage of a store's user; ``transaction`` opens a database transaction."""

    def __init__(self, transaction: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._transaction = transaction

    def read_since(self, moment: float) -> list[UsageRow]:
        """Returns what was used since a moment (Unix seconds), oldest first: by every version of a turn, also in
        conversations that were put away, and not by turns and summaries that were copied or came out of a file.

        Takes one query for turns and one for summaries; each reads only rows of this time.
        """
        with self._transaction() as connection:
            rows = [*_read_turn_usage(connection, moment), *_read_written_summaries(connection, moment)]
        return sorted(rows, key=lambda row: row.moment)


def _read_turn_usage(connection: Connection, moment: float) -> list[UsageRow]:
    full, sent = (_number_in_report(connection, name) for name in ("full_tokens", "total_tokens"))
    query = (
        select(_TURN.started, _TURN.session_id, _SESSION.title, _TURN.usage, full.label("full"), sent.label("sent"))
        .join(schema.session, _SESSION.id == _TURN.session_id)
        .where(_TURN.started >= moment, _TURN.usage.is_not(None), _TURN.is_imported.is_(False))
        .where(_TURN.started >= _SESSION.created)  # a copy has turns that count where they were made
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
    query = (
        select(
            _SUMMARY.created,
            _SUMMARY.session_id,
            _SESSION.title,
            _SUMMARY.model,
            _SUMMARY.prompt_tokens,
            _SUMMARY.answer_tokens,
        )
        .join(schema.session, _SESSION.id == _SUMMARY.session_id)
        .where(_SUMMARY.created >= moment, _SUMMARY.prompt_tokens > 0, _SUMMARY.is_counted)
        .where(build_owner_condition(connection, _SESSION.owner))
    )
    return [
        UsageRow(
            *(row.created, row.session_id, row.title, "summary", row.model or ""),
            *(row.prompt_tokens, 0, row.answer_tokens, None),
        )
        for row in connection.execute(query)
    ]
