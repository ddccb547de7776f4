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
    TextClause,
    UniqueConstraint,
    false,
    literal_column,
    text,
    true,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

from text.user_name import ME

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

OWNER_CHARS = 200
KEY_CHARS = 32
ALIAS_CHARS = 200
OWNED = {"since": 1}
MARKED = {"since": 2}
STORIED = {"since": 7}
"""``info`` of columns that a numbered migration adds (``store.database.migration``)."""

LISTED = text("deleted IS NULL AND turn_count > 0")
"""Condition for the sessions in the list. The queries contain exactly these words, so that both databases use the
partial index.
"""
PUT_AWAY = text("deleted IS NOT NULL")
NAMED = text("alias <> ''")
STORY = text("world <> ''")
"""Condition for the conversations with a world."""
UNDELIVERED = text("undelivered <> ''")


def foreign_row(turns: str = "turn") -> TextClause:
    """Returns the condition for turns with the mark of foreign text, in the words of its index. ``turns``: the name of
    the table in the query."""
    return text(f"{turns}.has_foreign")


def pinned_row() -> TextClause:
    """Returns the condition for pinned turns, in the words of its index: no other way of putting it uses that."""
    return text("turn.pinned")


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
    Column("rewriting", String(8), nullable=False, server_default=""),
    Column("api_key", ExactName(KEY_CHARS), nullable=False, server_default=""),
    Column("undelivered", String(32), nullable=False, server_default=""),
    Column("model", PlainData),
    Column("world", ExactName(64), nullable=False, server_default=""),
    Column("remembers", Boolean, nullable=False, default=False, server_default=false()),
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
    Index("session_undelivered", "undelivered", sqlite_where=UNDELIVERED, postgresql_where=UNDELIVERED),
    Index("session_of_world", "world", sqlite_where=STORY, postgresql_where=STORY),
    Index("session_put_away", "deleted", sqlite_where=PUT_AWAY, postgresql_where=PUT_AWAY),
    Index("session_name", "owner", "api_key", "alias", unique=True, sqlite_where=NAMED, postgresql_where=NAMED),
)
"""``folder``: the id of the folder that a session lies in, empty for none (``store.session.folder``). ``owner``: the
user whose session it is (``store.owner``). ``alias``: the name that a client gave it, empty for none; every narrowed
key has names of its own. ``api_key``: the key that made it, where that key opens nothing else of the user's; else
empty. ``undelivered``: see ``store.session.undelivered``. ``client_system``: the
client's own system text. ``rewriting``: whether the model is to write extracted summaries (``store.record.Rewriting``).
``model``: the model that answers in it (``store.record.Session``). ``world``: the world whose story it is, empty for a
conversation without one.
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
    Column("unused", Boolean, nullable=False, default=False, server_default=false()),
    Column("has_foreign", Boolean, nullable=False, default=False, server_default=false()),
    Column("is_imported", Boolean, nullable=False, default=False, server_default=false()),
    Column("mark", String(32), info=MARKED),
    Column("questions", PlainData),
    Column("reasoning", PlainData),
    Column("pinned", Boolean, nullable=False, default=False, server_default=false()),
    Column("is_copy", Boolean, nullable=False, default=False, server_default=false()),
    UniqueConstraint("session_id", "branch", "number"),
    Index("turn_started", "started"),
    # alone answers which turns of a conversation held text of others
    Index(
        "turn_foreign",
        "session_id",
        "branch",
        "number",
        "has_foreign",  # SQLite looks at it, though all rows of the index have it
        sqlite_where=text("has_foreign"),
        postgresql_where=text("has_foreign"),
    ),
    Index(
        "turn_pinned",
        "session_id",
        "branch",
        "number",
        sqlite_where=text("pinned"),
        postgresql_where=text("pinned"),
    ),
)
"""``id`` rises with time, and imported turns lie below all others, but for copies of them (``is_copy``): search uses
this order (``store.search``). ``given``: a client told this turn; no model of ours answered it. ``has_foreign``: its
prompt held text of others, so that its answer may repeat it (``store.turn.foreign``). ``is_imported``: its question
comes out of a file, and is no more the user's than its answer; the answer does, too, unless ``id`` is above 0 and it is
no copy. ``mark``: of earlier versions, which knew whole turns by it. ``reasoning``: what the model thought before its
answer. ``pinned``: the user wants it word for word in every prompt, also once it is summarised. ``is_copy``: it stands
on another branch of the conversation in another place, where its calls count (``store.turn.shift``).
"""

history_mark = Table(
    "history_mark",
    metadata,
    Column("mark", BigInteger, primary_key=True, autoincrement=False),
    Column("home", ExactName(64), primary_key=True),
    Column("branch", BigInteger, primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Index("history_mark_home", "home", "branch", "number"),
    sqlite_with_rowid=False,
)
"""Short marks of single messages, by which a client's history is found (``store.session.history``): of each question
and each answer of a finished turn, its whole and its edges (``history.form``). ``home``: the conversation. A mark is
its owner's."""

turn_index = Table(
    "turn_index",
    metadata,
    Column("session_id", ExactName(64), primary_key=True),
    Column("branch", Integer, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("made_by", String(200), primary_key=True),
    Column("vector", LargeBinary, nullable=False),
    Column("words", LargeBinary, nullable=False),
    Column("revision", BigInteger, nullable=False, default=0, server_default="0"),
)
"""What a search in past turns reads of each turn (``store.search.turn_index``). ``made_by``: the rules that made the
row. ``vector``: empty until it is made. ``revision``: the revision of the user's rows that wrote this one."""

turn_index_revision = Table(
    "turn_index_revision",
    metadata,
    Column("owner", ExactName(OWNER_CHARS), primary_key=True),
    Column("revision", BigInteger, nullable=False),
    Column("removed", BigInteger, nullable=False),
)
"""How often the rows of each user have changed, for those who hold a copy of them. ``removed``: the last revision that
removed a session."""

turn_index_change = Table(
    "turn_index_change",
    metadata,
    Column("session_id", ExactName(64), primary_key=True),
    Column("owner", ExactName(OWNER_CHARS), nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("rebuilt", BigInteger, nullable=False),
    Index("turn_index_change_of_owner", "owner", "revision"),
)
"""The last revision that changed a session's rows or path, and the last that did more than add rows."""

session_options = Table(
    "session_options",
    metadata,
    Column("session_id", ExactName(64), primary_key=True),
    Column("system_prompt", ExactText, nullable=False),
    Column("temperature", Float),
    Column("answer_tokens", Integer),
    Column("is_imported", Boolean, nullable=False, default=False, server_default=false()),
)
"""The options of a conversation that differ from the default (``store.session.options``). ``is_imported``: the system
prompt, or the one that it was made from, comes out of a file, so that anybody may have written it."""

session_prompt = Table(
    "session_prompt",
    metadata,
    Column("session_id", ExactName(64), primary_key=True),
    Column("mark", String(16), primary_key=True),
    Column("text", ExactText, nullable=False),
)
"""Every system prompt of its own that a conversation has had, by its mark (``store.turn.wording.build_text_mark``)."""

preset = Table(
    "preset",
    metadata,
    Column("owner", ExactName(OWNER_CHARS), primary_key=True, server_default=ME, info=OWNED),
    Column("name", ExactName(100), primary_key=True),
    Column("system_prompt", ExactText, nullable=False),
    Column("temperature", Float),
    Column("answer_tokens", Integer),
)
"""Named options of each user (``store.session.options``)."""

approval = Table(
    "approval",
    metadata,
    Column("owner", ExactName(OWNER_CHARS), primary_key=True),
    Column("server", ExactName(64), primary_key=True),
    Column("tool", ExactName(200), primary_key=True),
    Column("digest", String(64), nullable=False),
    Column("created", Float, nullable=False),
)
"""Foreign tools that a user has allowed for good (``store.user.approval``)."""

user_setting = Table(
    "user_setting",
    metadata,
    Column("owner", ExactName(OWNER_CHARS), primary_key=True),
    Column("name", ExactName(64), primary_key=True),
    Column("value", PlainData, nullable=False),
)
"""What each user has set for their own pages (``store.user.user_setting``)."""

api_key = Table(
    "api_key",
    metadata,
    Column("id", ExactName(20), primary_key=True),
    Column("name", ExactText, nullable=False),
    Column("user", ExactName(OWNER_CHARS), nullable=False),
    Column("documents", Boolean, nullable=False),
    Column("memory", Boolean, nullable=False, default=True, server_default=true()),
    Column("digest", String(64), nullable=False),
    Column("created", Float, nullable=False),
    Column("revoked", Float),
)
"""Keys of the endpoint (``store.user.api_key``): ``digest`` is the hash of the secret, which stands nowhere."""

secret = Table(
    "secret",
    metadata,
    Column("name", String(40), primary_key=True),
    Column("value", String(64), nullable=False),
)
"""Secrets that all processes of the installation share (``store.user.secret``)."""

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
"""Messages that are not turns yet (``store.turn.outbox``). ``turn``: the turn that an edited text replaces, else 0."""

attachment = Table(
    "attachment",
    metadata,
    Column("session_id", ExactName(64), primary_key=True),
    Column("name", ExactText, primary_key=True),
    Column("key", String(64), nullable=False),
    Column("message", Integer),
    Column("place", Integer, nullable=False, server_default="0"),
    Index("attachment_by_key", "key"),
)
"""Files of conversations (``store.turn.attachment``). ``key``: the key of the document. ``message``: the id of the
outbox message that carries the file, 0 for the next message, None when the file belongs to a turn. ``place``: ascends
in the order in which the files were added.
"""

image = Table(
    "image",
    metadata,
    Column("session_id", ExactName(64), primary_key=True),
    Column("key", String(64), primary_key=True),
    Column("kind", String(32), nullable=False),
    Column("data", LargeBinary, nullable=False),
)
"""Images of conversations (``store.turn.image``). ``key``: as in the files of turns; ``kind``: the MIME type."""

partial = Table(
    "partial",
    metadata,
    Column("session_id", ExactName(64), primary_key=True),
    Column("branch", Integer, nullable=False),
    Column("number", Integer, nullable=False),
    Column("text", ExactText, nullable=False),
)
"""The text of a running answer that has arrived so far, at most one per session (``store.turn.partial``)."""

stop_request = Table(
    "stop_request",
    metadata,
    Column("session_id", ExactName(64), primary_key=True),
    Column("turn_id", BigInteger().with_variant(Integer, "sqlite"), nullable=False),
    Column("started", Float, nullable=False),
)
"""Turns that a user wants stopped (``store.turn.stop``). ``started``: which run of the turn is meant."""

begun_call = Table(
    "begun_call",
    metadata,
    Column("session_id", ExactName(64), primary_key=True),
    Column("turn_id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("key", ExactName(200), primary_key=True),
)
"""Calls of foreign tools that a running turn has begun (``store.turn.begun_call``)."""

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
    Column("hint", ExactText, nullable=False, default="", server_default=""),
    Column("is_counted", Boolean, nullable=False, default=True, server_default=true()),
    Column("cached_tokens", Integer, nullable=False, default=0, server_default="0"),
    Column("usd", Float),
    Column("cache_usd", Float, nullable=False, default=0.0, server_default="0"),
    UniqueConstraint("session_id", "branch", "first_turn", "version"),
    Index("summary_created", "created"),
)
"""``hint``: what the user wanted the writer to look to; empty for a summary that nobody asked for. ``is_counted``:
its call counts as usage of its own (``store.user.usage``), not in the turn that waited for it, and was made in this
session. ``usd``: null where the price is not known, and in rows of earlier versions; ``cache_usd``: what the provider's
cache saved.
"""

side_call = Table(
    "side_call",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("session_id", ExactName(64), nullable=False),
    Column("work", String(16), nullable=False),
    Column("model", String(200), nullable=False),
    Column("at", Float, nullable=False),
    Column("prompt_tokens", Integer, nullable=False),
    Column("cached_tokens", Integer, nullable=False),
    Column("answer_tokens", Integer, nullable=False),
    Column("usd", Float),
    Column("cache_usd", Float, nullable=False),
    Index("side_call_at", "at"),
    Index("side_call_session", "session_id"),
)
"""What calls beside a conversation's answers took that leave no other row: those of the tracker and of the curator of a
story, side questions and titles (``store.user.usage``). ``at``: Unix seconds. ``usd``: null where the price is not
known."""

wording = Table(
    "wording",
    metadata,
    Column("mark", String(16), primary_key=True),
    Column("text", ExactText, nullable=False),
)
"""System prompts as they were sent, each once, because a later release words them differently
(``store.turn.wording``)."""

schema_version = Table(
    "schema_version",
    metadata,
    Column("step", Integer, primary_key=True, autoincrement=False),
    Column("at", Float, nullable=False),
)
"""The numbered migrations that this database has had, and when (``store.database.migration``)."""
