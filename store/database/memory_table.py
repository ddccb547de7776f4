"""Tables of the memory's archive: here the data of Redis outlives its time to live (design 6.3).

``memory_session``: the newest state of each memory. ``memory_version``: every version with its source turns.
``memory_queue``: writes that failed while Redis was away. ``memory_erased``: digests of values that must not come back.
``memory_given``: the memory texts that prompts received, each text once, so that an answer's prompt can be shown.
``memory_withheld``: values that were removed from memories because only a deleted session had told them; restoring the
session puts them back. A row with an empty ``memory`` says whether memory is to forget these values at all.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Float, Index, Integer, String, Table, Text, UniqueConstraint

from store.database.schema import ExactText, PlainData, metadata

session = Table(
    "memory_session",
    metadata,
    Column("scope", Text, primary_key=True),
    Column("tenant", ExactText, nullable=False),
    Column("session", ExactText, nullable=False),
    Column("user", ExactText, nullable=False),
    Column("state", PlainData, nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("waiting", Integer, nullable=False),
    Column("updated", Float, nullable=False),
    Index("memory_session_by_update", "updated"),
)

Index(
    "memory_session_waiting",
    session.c.tenant,
    session.c.user,
    sqlite_where=session.c.waiting > 0,
    postgresql_where=session.c.waiting > 0,
)

version = Table(
    "memory_version",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("scope", Text, nullable=False),
    Column("number", Integer, nullable=False),
    Column("created", Float, nullable=False),
    Column("undone", Boolean, nullable=False, default=False),
    Column("data", PlainData, nullable=False),
    UniqueConstraint("scope", "number", "created"),
)

queue = Table(
    "memory_queue",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("scope", Text, nullable=False),
    Column("tenant", ExactText, nullable=False),
    Column("session", ExactText, nullable=False),
    Column("user", ExactText, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("data", PlainData, nullable=False),
    Column("created", Float, nullable=False),
    Index("memory_queue_by_scope", "scope"),
)

erased = Table(
    "memory_erased",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("created", Float, nullable=False),
)

given = Table(
    "memory_given",
    metadata,
    Column("scope", Text, primary_key=True),
    Column("mark", String(16), primary_key=True),
    Column("text", ExactText, nullable=False),
)

withheld = Table(
    "memory_withheld",
    metadata,
    Column("scope", Text, primary_key=True),
    Column("memory", Text, primary_key=True),
    Column("tenant", ExactText, nullable=False),
    Column("user", ExactText, nullable=False),
    Column("session", ExactText, nullable=False),
    Column("other", ExactText, nullable=False),
    Column("data", PlainData, nullable=False),
)
"""``session``: the deleted session; ``other``: the session whose memory held the values, empty for the user's memory.
"""

TABLES = [session, version, queue, erased, given, withheld]
