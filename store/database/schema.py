"""Tables of the record: sessions, turns (the full transcript) and summaries (the full ledger). Rows are mostly
appended.

LangGraph's own tables (``store.database.checkpoint``) hold only the data that the next turn needs (design 3.1).
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
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
    literal_column,
    text,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

_MARK = "\ue0f0"  # private use: starts an escape
_UNSTORABLE = re.compile(f"[\x00\ud800-\udfff{_MARK}]")
_ESCAPE = re.compile(_MARK + "([0-9a-f]{4})")


class ExactText(TypeDecorator[str]):
    """Text that comes back exactly as it was written, including the characters that databases refuse.

    NUL (refused by PostgreSQL) and lone surrogates (refused by UTF-8) are stored as escapes; everything else stays
    searchable.
    """

    impl: type[String] = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else _UNSTORABLE.sub(lambda match: f"{_MARK}{ord(match[0]):04x}", value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else _ESCAPE.sub(lambda match: chr(int(match[1], 16)), value)


class ExactName(ExactText):
    """A short text that names something, exact like ``ExactText``: looking up an odd name finds nothing, without an
    error.
    """

    impl = String
    cache_ok = True


class PlainData(TypeDecorator[Any]):
    """JSON in a text column, exact like ``ExactText``."""

    impl = ExactText
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        return None if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        return None if value is None else json.loads(value)


metadata = MetaData()

ME = "me"
"""The user of page and terminal, and the owner of everything that was written before there were users."""
OWNER_CHARS = 200
ALIAS_CHARS = 200
OWNED = {"since": 1}
MARKED = {"since": 2}
"""``info`` of columns that a numbered migration adds (``store.database.migration``)."""

LISTED = text("deleted IS NULL AND turn_count > 0")
"""Condition for the sessions in the list. The queries contain exactly these words, so that both databases use the
partial index.
"""
PUT_AWAY = text("deleted IS NOT NULL")
NAMED = text("alias <> ''")
MARKED_ROW = text("mark IS NOT NULL")

session = Table(
    "session",
    metadata,
    Column("id", ExactName(64), primary_key=True),
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
    Column("collections", PlainData),
    Column("folder", ExactName(64), nullable=False, default="", server_default=""),
    Column("owner", ExactName(OWNER_CHARS), nullable=False, server_default=ME, info=OWNED),
    Column("alias", ExactName(ALIAS_CHARS), nullable=False, server_default="", info=OWNED),
    Column("client_system", ExactText, nullable=False, server_default="", info=MARKED),
    Index(
        "session_of_owner",
        "owner",
        literal_column("pinned DESC"),
        literal_column("updated DESC"),
        "id",
        sqlite_where=LISTED,
        postgresql_where=LISTED,
    ),
    Index(
        "session_in_folder",
        "owner",
        "folder",
        literal_column("pinned DESC"),
        literal_column("updated DESC"),
        "id",
        sqlite_where=LISTED,
        postgresql_where=LISTED,
    ),
    Index("session_put_away", "deleted", sqlite_where=PUT_AWAY, postgresql_where=PUT_AWAY),
    Index("session_alias", "owner", "alias", unique=True, sqlite_where=NAMED, postgresql_where=NAMED),
)
"""``folder``: the id of the folder that a session lies in, empty for none (``store.folder``). ``owner``: the user whose
session it is (``store.owner``). ``alias``: the name that a client gave it, empty for none. ``client_system``: the
client's own system text.
"""

folder = Table(
    "folder",
    metadata,
    Column("id", ExactName(64), primary_key=True),
    Column("name", ExactText, nullable=False),
    Column("created", Float, nullable=False),
    Column("owner", ExactName(OWNER_CHARS), nullable=False, server_default=ME, info=OWNED),
)

branch = Table(
    "branch",
    metadata,
    Column("session_id", ExactName(64), primary_key=True),
    Column("id", Integer, primary_key=True),
    Column("path", PlainData, nullable=False),
    Column("used", Float, nullable=False),
)

turn = Table(
    "turn",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("session_id", ExactName(64), nullable=False),
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
    Column("files", PlainData),
    Column("given", Boolean, nullable=False, default=False, server_default=false(), info=MARKED),
    Column("mark", String(32), info=MARKED),
    Column("questions", PlainData),
    UniqueConstraint("session_id", "branch", "number"),
    # alone answers which turns of which conversations say the same: rows of turns are large
    Index(
        "turn_mark",
        "mark",
        "session_id",
        "branch",
        "number",
        sqlite_where=MARKED_ROW,
        postgresql_where=MARKED_ROW,
    ),
)
"""``id`` rises with time, and imported turns lie below all others: search uses this order (``store.search``).
``given``: a client told this turn; no model of ours answered it. ``mark``: what a finished turn says, by its owner
(``store.history``).
"""

turn_index = Table(
    "turn_index",
    metadata,
    Column("session_id", ExactName(64), primary_key=True),
    Column("branch", Integer, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("made_by", String(200), primary_key=True),
    Column("vector", LargeBinary, nullable=False),
    Column("words", LargeBinary, nullable=False),
)
"""What a search in past turns reads of each turn (``store.turn_index``). ``made_by``: the rules that made the row."""

session_options = Table(
    "session_options",
    metadata,
    Column("session_id", ExactName(64), primary_key=True),
    Column("system_prompt", ExactText, nullable=False),
    Column("temperature", Float),
    Column("answer_tokens", Integer),
)
"""The options of a conversation that differ from the default (``store.options``)."""

session_prompt = Table(
    "session_prompt",
    metadata,
    Column("session_id", ExactName(64), primary_key=True),
    Column("mark", String(16), primary_key=True),
    Column("text", ExactText, nullable=False),
)
"""Every system prompt of its own that a conversation has had, by its mark (``store.wording.mark``)."""

preset = Table(
    "preset",
    metadata,
    Column("owner", ExactName(OWNER_CHARS), primary_key=True, server_default=ME, info=OWNED),
    Column("name", ExactName(100), primary_key=True),
    Column("system_prompt", ExactText, nullable=False),
    Column("temperature", Float),
    Column("answer_tokens", Integer),
)
"""Named options of each user (``store.options``)."""

approval = Table(
    "approval",
    metadata,
    Column("owner", ExactName(OWNER_CHARS), primary_key=True),
    Column("server", ExactName(64), primary_key=True),
    Column("tool", ExactName(200), primary_key=True),
    Column("digest", String(64), nullable=False),
    Column("created", Float, nullable=False),
)
"""Foreign tools that a user has allowed for good (``store.approval``)."""

api_key = Table(
    "api_key",
    metadata,
    Column("id", ExactName(20), primary_key=True),
    Column("name", ExactText, nullable=False),
    Column("user", ExactName(OWNER_CHARS), nullable=False),
    Column("documents", Boolean, nullable=False),
    Column("digest", String(64), nullable=False),
    Column("created", Float, nullable=False),
    Column("revoked", Float),
)
"""Keys of the endpoint (``store.api_key``): ``digest`` is the hash of the secret, which stands nowhere."""

secret = Table(
    "secret",
    metadata,
    Column("name", String(40), primary_key=True),
    Column("value", String(64), nullable=False),
)
"""Secrets that all processes of the installation share (``store.secret``)."""

outbox = Table(
    "outbox",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("session_id", ExactName(64), nullable=False),
    Column("text", ExactText, nullable=False),
    Column("turn", Integer, nullable=False, default=0),
    Column("created", Float, nullable=False),
    sqlite_autoincrement=True,
)
"""Messages that are not turns yet (``store.outbox``). ``turn``: the turn that an edited text replaces, else 0."""

attachment = Table(
    "attachment",
    metadata,
    Column("session_id", ExactName(64), primary_key=True),
    Column("name", ExactText, primary_key=True),
    Column("key", String(64), nullable=False),
    Column("message", Integer),
    Index("attachment_by_key", "key"),
)
"""Files of conversations (``store.attachment``). ``key``: the key of the document. ``message``: the id of the outbox
message that carries the file, 0 for the next message, None when the file belongs to a turn.
"""

partial = Table(
    "partial",
    metadata,
    Column("session_id", ExactName(64), primary_key=True),
    Column("branch", Integer, nullable=False),
    Column("number", Integer, nullable=False),
    Column("text", ExactText, nullable=False),
)
"""The text of a running answer that has arrived so far, at most one per session (``store.partial``)."""

stop_request = Table(
    "stop_request",
    metadata,
    Column("session_id", ExactName(64), primary_key=True),
    Column("turn_id", BigInteger().with_variant(Integer, "sqlite"), nullable=False),
    Column("started", Float, nullable=False),
)
"""Turns that a user wants stopped (``store.stop``). ``started``: which run of the turn is meant."""

summary = Table(
    "summary",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("session_id", ExactName(64), nullable=False),
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
"""System prompts as they were sent, each once, because a later release words them differently (``store.wording``)."""

schema_version = Table(
    "schema_version",
    metadata,
    Column("step", Integer, primary_key=True, autoincrement=False),
    Column("at", Float, nullable=False),
)
"""The numbered migrations that this database has had, and when (``store.database.migration``)."""
