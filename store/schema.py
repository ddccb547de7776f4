"""Tables of the record: sessions, turns (the full transcript) and summaries (the full ledger); append-mostly rows.

What LangGraph keeps beside them (``store.checkpoint``) holds only what the next turn needs (design §3).
"""

from __future__ import annotations

import json
import re
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    literal_column,
    text,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

_MARK = "\ue0f0"  # private use: starts an escape
_UNSTORABLE = re.compile(f"[\x00\ud800-\udfff{_MARK}]")
_ESCAPE = re.compile(_MARK + "([0-9a-f]{4})")


class ExactText(TypeDecorator[str]):
    """Text that comes back exactly as it went in, with the characters that databases refuse.

    NUL (PostgreSQL) and lone surrogates (UTF-8) are stored as escapes; everything else stays searchable.
    """

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else _UNSTORABLE.sub(lambda found: f"{_MARK}{ord(found[0]):04x}", value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else _ESCAPE.sub(lambda found: chr(int(found[1], 16)), value)


class PlainData(TypeDecorator[Any]):
    """JSON in a text column, exact like ``ExactText``."""

    impl = ExactText
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        return None if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        return None if value is None else json.loads(value)


metadata = MetaData()

LISTED = text("deleted IS NULL AND turn_count > 0")
"""Sessions on the list: written into the queries word by word, so that both databases use the partial index."""
PUT_AWAY = text("deleted IS NOT NULL")

session = Table(
    "session",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("title", ExactText, nullable=False, default=""),
    Column("titled", String(8), nullable=False, default="auto"),
    Column("language", String(8), nullable=False),
    Column("compression_rate", Float, nullable=False),
    Column("path", PlainData, nullable=False),
    Column("turn_count", Integer, nullable=False, default=0),
    Column("history_tokens", Integer, nullable=False, default=0),
    Column("created", Float, nullable=False),
    Column("updated", Float, nullable=False),
    Column("pinned", Boolean, nullable=False, default=False),
    Column("deleted", Float),
    Column("revision", Integer, nullable=False, default=0),
    Index(
        "session_list",
        literal_column("pinned DESC"),
        literal_column("updated DESC"),
        "id",
        sqlite_where=LISTED,
        postgresql_where=LISTED,
    ),
    Index("session_put_away", "deleted", sqlite_where=PUT_AWAY, postgresql_where=PUT_AWAY),
)

branch = Table(
    "branch",
    metadata,
    Column("session_id", String(64), primary_key=True),
    Column("id", Integer, primary_key=True),
    Column("path", PlainData, nullable=False),
    Column("used", Float, nullable=False),
)

turn = Table(
    "turn",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("session_id", String(64), nullable=False),
    Column("branch", Integer, nullable=False),
    Column("number", Integer, nullable=False),
    Column("question", ExactText, nullable=False),
    Column("answer", ExactText),
    Column("status", String(16), nullable=False),
    Column("messages", PlainData),
    Column("error", PlainData),
    Column("steps", PlainData),
    Column("report", PlainData),
    Column("usage", PlainData),
    Column("feedback", PlainData),
    Column("tokens", Integer, nullable=False, default=0),
    Column("started", Float, nullable=False),
    Column("finished", Float),
    Column("seconds", Float),
    Column("first_token_seconds", Float),
    UniqueConstraint("session_id", "branch", "number"),
)
"""``id`` rises with time, imported turns lie below all others: the order of search (``store.search``)."""

outbox = Table(
    "outbox",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("session_id", String(64), nullable=False),
    Column("text", ExactText, nullable=False),
    Column("turn", Integer, nullable=False, default=0),
    Column("created", Float, nullable=False),
    sqlite_autoincrement=True,
)
"""Messages that are not turns yet (``store.outbox``). ``turn``: the one whose place an edited text takes, else 0."""

partial = Table(
    "partial",
    metadata,
    Column("session_id", String(64), primary_key=True),
    Column("branch", Integer, nullable=False),
    Column("number", Integer, nullable=False),
    Column("text", ExactText, nullable=False),
)
"""What has arrived of the answer that is being given, at most one of a session (``store.partial``)."""

summary = Table(
    "summary",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("session_id", String(64), nullable=False),
    Column("branch", Integer, nullable=False),
    Column("first_turn", Integer, nullable=False),
    Column("last_turn", Integer, nullable=False),
    Column("version", Integer, nullable=False),
    Column("record", PlainData),
    Column("status", String(16), nullable=False),
    Column("origin", String(16), nullable=False),
    Column("ahead", Boolean, nullable=False),
    Column("model", String(200)),
    Column("prompt_tokens", Integer, nullable=False, default=0),
    Column("answer_tokens", Integer, nullable=False, default=0),
    Column("seconds", Float, nullable=False, default=0.0),
    Column("kept", PlainData),
    Column("lost", PlainData),
    Column("error", PlainData),
    Column("turns", PlainData, nullable=False),
    Column("rate", Float, nullable=False),
    Column("created", Float, nullable=False),
    UniqueConstraint("session_id", "branch", "first_turn", "version"),
)

wording = Table(
    "wording",
    metadata,
    Column("mark", String(16), primary_key=True),
    Column("text", ExactText, nullable=False),
)
"""System prompts as they were sent, each once: a later release words them otherwise (``store.wording``)."""
