"""Tables of long-term memory: rows are the only truth about what is remembered; Redis holds a copy that may vanish.

``memory_source``: what memory knows about a session as a whole. ``memory_user``: a user's switch for carrying memory
over. ``memory_line``: every line of memory with the turn that it comes from. ``memory_text``: every M_i of a session,
as a list of lines. ``memory_given``: the memory texts that prompts received, each text once, so that an answer's prompt
can be shown. ``memory_stale``: sessions whose copy in Redis is to be removed as soon as Redis can be reached.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Float, Index, Integer, String, Table, Text, false

from store.database.schema import OWNER_CHARS, ExactName, ExactText, PlainData, metadata

TENANT_CHARS = 100

source = Table(
    "memory_source",
    metadata,
    Column("tenant", ExactName(TENANT_CHARS), primary_key=True),
    Column("session", ExactName(200), primary_key=True),
    Column("user", ExactName(OWNER_CHARS), nullable=False),
    Column("apart", Boolean, nullable=False, default=False, server_default=false()),
    Column("stays", Boolean),
    Column("skipped", Integer, nullable=False, default=0, server_default="0"),
    Column("erased_at", Float),
    Column("rejection", PlainData),
    Column("proposal", PlainData),
    Column("revision", BigInteger, nullable=False, default=0, server_default="0"),
    Column("updated", Float, nullable=False),
    Index("memory_source_of_user", "tenant", "user", "updated"),
)
"""``apart``: the session neither reads nor adds to what conversations share. ``stays``: what a deleted session told
stays in the profile (True) or leaves it (False); empty where nobody was asked. ``skipped``: turns up to this number are
not taken in (from earlier releases), ``erased_at``: nor are those that began before (Unix seconds), on any branch.
``rejection``: why the last fold was rejected (``memory.state.Rejection``). ``proposal``: what the last fold would
write, while the user has not said yes or no (``memory.view.proposal``). ``revision``: rises with every change of the
session's memory."""

user = Table(
    "memory_user",
    metadata,
    Column("tenant", ExactName(TENANT_CHARS), primary_key=True),
    Column("user", ExactName(OWNER_CHARS), primary_key=True),
    Column("apart", Boolean, nullable=False, default=False),
    Column("erased_at", Float),
    Column("asks_first", Boolean, nullable=False, default=False, server_default=false()),
)
"""``apart``: the user has switched off that memory is carried over. ``erased_at``: when something of the user's was
last erased (Unix seconds). ``asks_first``: a fold waits for the user's yes before it counts."""

line = Table(
    "memory_line",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("tenant", ExactName(TENANT_CHARS), nullable=False),
    Column("session", ExactName(200), nullable=False),
    Column("user", ExactName(OWNER_CHARS), nullable=False),
    Column("kind", String(16), nullable=False),
    Column("branch", Integer, nullable=False),
    Column("turn", Integer, nullable=False),
    Column("at", Float, nullable=False),
    Column("origin", String(8), nullable=False),
    Column("key", ExactText, nullable=False, default=""),
    Column("text", ExactText, nullable=False),
    Column("pinned", Boolean, nullable=False, default=False),
    Column("replaced_by", BigInteger),
    Column("forgotten_at", Float),
    Column("imported", Boolean, nullable=False, default=False, server_default=false()),
    Index("memory_line_of_session", "tenant", "session", "kind"),
    Index("memory_line_of_user", "tenant", "user", "kind"),
    sqlite_autoincrement=True,
)
"""``kind``: sentence (of a model or by hand), statement (the user's own words, taken by code), entity, profile (a
lasting fact of the user, or a pin), forgotten (a text that the user had forgotten). ``branch``, ``turn``: the turn that
it comes from, turn 0 for none; ``at``: when that was said (Unix seconds). ``origin``: user, model or foreign.
``replaced_by``: the line that says the newer value of the same key; so no id is given twice. ``imported``: it comes out
of a file, which says the rest of it."""

version = Table(
    "memory_text",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("tenant", ExactName(TENANT_CHARS), nullable=False),
    Column("session", ExactName(200), nullable=False),
    Column("number", Integer, nullable=False),
    Column("branch", Integer, nullable=False),
    Column("turn", Integer, nullable=False),
    Column("first", Integer, nullable=False),
    Column("folded", Integer, nullable=False),
    Column("origin", String(16), nullable=False),
    Column("language", String(8), nullable=False),
    Column("created", Float, nullable=False),
    Column("undone", Boolean, nullable=False, default=False),
    Column("lines", PlainData, nullable=False),
    Column("entities", PlainData, nullable=False),
    Column("record", PlainData, nullable=False),
    Index("memory_text_of_session", "tenant", "session", "id"),
    Index("memory_text_created", "created"),
    sqlite_autoincrement=True,
)
"""``branch``, ``turn``: the last turn taken in; it is there as long as the session's path holds that turn.
``first``: the first turn that it took in, 0 for a change by hand; ``folded``: the last turn taken in so far. ``lines``,
``entities``: ids of ``memory_line``, in order. ``record``: facts kept and lost, and the cost."""

given = Table(
    "memory_given",
    metadata,
    Column("scope", Text, primary_key=True),
    Column("mark", String(16), primary_key=True),
    Column("text", ExactText, nullable=False),
)
"""``scope``: ``memory.key.Scope.tag``."""

stale = Table("memory_stale", metadata, Column("tag", Text, primary_key=True))

TABLES = [source, user, line, version, given, stale]
