"""Tables of the memory's archive: what Redis holds outlives its time to live here (design §6).

``memory_session``: the newest state of each memory; ``memory_version``: every version with its source turns;
``memory_queue``: what could not be written while Redis was away; ``memory_erased``: what must not come back (digests);
``memory_given``: what prompts were given of a memory, each text once, so that an answer's prompt can be shown.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Float, Index, Integer, String, Table, Text, UniqueConstraint

from store.schema import ExactText, PlainData, metadata

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

TABLES = [session, version, queue, erased, given]
