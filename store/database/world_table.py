"""Tables of story worlds: worlds, what a world adds to the turns of its stories, and what each turn changed
(specification 12.3).

A story is a conversation (``schema.session``) whose ``world`` is not empty; what was said stands in its turns. The rows
of ``characters``, ``relationships``, ``locations``, ``items``, ``events``, ``lore_mark``, ``world_alias``,
``world_left_out``, ``world_used`` and ``world_time`` belong to the turn (``node``) that wrote them: the state after a
turn is what the turns before it wrote, the newest row of a name last.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    UniqueConstraint,
    false,
    text,
)

from store.database.schema import KEY_CHARS, OWNER_CHARS, STORIED, ExactName, ExactText, PlainData, metadata
from text.user_name import ME

NAME_CHARS = 200
_ID = BigInteger().with_variant(Integer, "sqlite")
RAW = text("status = 'raw'")
IS_RAW = text("world_node.status = 'raw'")
"""Conditions for the turns that are not worked off, of the partial index and of queries: no other way of putting it
uses that."""

world = Table(
    "world",
    metadata,
    Column("id", ExactName(64), primary_key=True),
    Column("owner", ExactName(OWNER_CHARS), nullable=False, server_default=ME),
    Column("name", ExactText, nullable=False),
    Column("slug", ExactName(NAME_CHARS), nullable=False),
    Column("language", String(8), nullable=False),
    Column("player", ExactText, nullable=False),
    Column("begin", PlainData),
    Column("revision", Integer, nullable=False, default=0),
    Column("created", Float, nullable=False),
    Column("updated", Float, nullable=False),
    Column("api_key", ExactName(KEY_CHARS), nullable=False, server_default=""),
    UniqueConstraint("owner", "slug"),
)
"""``begin``: the changes that lead to the state before the first turn. ``revision`` rises when the lorebook or the
beginning changes. ``api_key``: as of a session."""

node = Table(
    "world_node",
    metadata,
    Column("id", _ID, primary_key=True, autoincrement=True),
    Column("world_id", ExactName(64), nullable=False),
    Column("session_id", ExactName(64), nullable=False, info=STORIED),
    Column("branch", Integer, nullable=False, info=STORIED),
    Column("turn", Integer, nullable=False),
    Column("parent", _ID, nullable=False),
    Column("raw", ExactText, nullable=False),
    Column("status", String(8), nullable=False),
    Column("origin", String(8), nullable=False),
    Column("block", PlainData),
    Column("refusals", PlainData),
    Column("mood", ExactText),
    Column("receipt", PlainData),
    Column("report", PlainData),
    Column("since", Integer, nullable=False),
    Column("snapshot", PlainData),
    Column("source", _ID, nullable=False, default=0, server_default=text("0")),
    UniqueConstraint("session_id", "branch", "turn"),
    Index("world_node_parent", "world_id", "parent"),
    Index("world_node_raw", "id", sqlite_where=RAW, postgresql_where=RAW),
    sqlite_autoincrement=True,
)
"""What a world adds to a turn of its story, by the place of the turn: ``session_id``, ``branch`` and its number.
``parent``: the ``id`` of the turn before it that was told, 0 for the first. ``since``: how many turns ago the last
snapshot was. ``source``: the ``id`` of the turn of another branch that this one says once more, 0 for any other."""

characters = Table(
    "characters",
    metadata,
    Column("node", _ID, primary_key=True),
    Column("name", ExactName(NAME_CHARS), primary_key=True),
    Column("location", ExactText, nullable=False),
    Column("hp", Integer),
    Column("status", ExactText, nullable=False),
    Column("companion", Boolean, nullable=False, server_default=false()),
    Column("sightings", Integer, nullable=False, server_default="0"),
)

relationships = Table(
    "relationships",
    metadata,
    Column("node", _ID, primary_key=True),
    Column("from_char", ExactName(NAME_CHARS), primary_key=True),
    Column("to_char", ExactName(NAME_CHARS), primary_key=True),
    Column("rel_type", ExactText, nullable=False),
    Column("strength", Integer, nullable=False),
)

locations = Table(
    "locations",
    metadata,
    Column("node", _ID, primary_key=True),
    Column("name", ExactName(NAME_CHARS), primary_key=True),
    Column("description", ExactText, nullable=False),
    Column("adjacent", PlainData, nullable=False),
    Column("status", ExactText, nullable=False),
)

items = Table(
    "items",
    metadata,
    Column("node", _ID, primary_key=True),
    Column("name", ExactName(NAME_CHARS), primary_key=True),
    Column("status", ExactText, nullable=False),
    Column("count", Integer, nullable=False, server_default="1"),
)

events = Table(
    "events",
    metadata,
    Column("node", _ID, primary_key=True),
    Column("turn", Integer, nullable=False),
    Column("location", ExactText, nullable=False),
    Column("description", ExactText, nullable=False),
    Column("participants", PlainData, nullable=False),
    Column("importance", Float, nullable=False),
)

lore_mark = Table(
    "lore_mark",
    metadata,
    Column("node", _ID, primary_key=True),
    Column("lore", _ID, primary_key=True),
    Column("content", ExactText),
    Column("location", ExactText),
    Column("last_mentioned", Integer, nullable=False),
)

aliases = Table(
    "world_alias",
    metadata,
    Column("node", _ID, primary_key=True),
    Column("kind", String(8), primary_key=True),
    Column("name", ExactName(NAME_CHARS), primary_key=True),
    Column("of", ExactText, nullable=False),
    Column("was", PlainData),
)

left_out = Table(
    "world_left_out",
    metadata,
    Column("node", _ID, primary_key=True),
    Column("name", ExactName(NAME_CHARS), primary_key=True),
    Column("hidden", Boolean, nullable=False),
)

used = Table(
    "world_used",
    metadata,
    Column("node", _ID, primary_key=True),
    Column("name", ExactName(NAME_CHARS), primary_key=True),
)

times = Table(
    "world_time",
    metadata,
    Column("node", _ID, primary_key=True),
    Column("day", ExactText, nullable=False),
    Column("time_of_day", ExactText, nullable=False),
)

lore = Table(
    "lore",
    metadata,
    Column("id", _ID, primary_key=True, autoincrement=True),
    Column("world_id", ExactName(64), nullable=False, index=True),
    Column("keyword", ExactText, nullable=False),
    Column("content", ExactText, nullable=False),
    Column("category", ExactText, nullable=False),
    Column("layer", String(2), nullable=False),
    Column("keys", PlainData, nullable=False),
    Column("location", ExactText, nullable=False),
    Column("enabled", Boolean, nullable=False),
    Column("extra", PlainData, nullable=False),
    Column("rule", PlainData),
    sqlite_autoincrement=True,
)

vector = Table(
    "world_vector",
    metadata,
    Column("world_id", ExactName(64), primary_key=True),
    Column("kind", String(8), primary_key=True),
    Column("made_by", ExactName(NAME_CHARS), primary_key=True),
    Column("ref", _ID, primary_key=True),
    Column("turn", Integer, nullable=False),
    Column("vector", LargeBinary, nullable=False),
)

block = Table(
    "world_block",
    metadata,
    Column("node", _ID, primary_key=True),
    Column("name", String(24), primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("text", ExactText, nullable=False),
    Column("created", Float, nullable=False),
)

finding = Table(
    "world_finding",
    metadata,
    Column("id", _ID, primary_key=True, autoincrement=True),
    Column("world_id", ExactName(64), nullable=False),
    Column("node", _ID, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("subject", ExactText, nullable=False),
    Column("text", ExactText, nullable=False),
    Column("status", String(12), nullable=False),
    Column("created", Float, nullable=False),
    Column("mend", PlainData),
    Index("world_finding_node", "world_id", "node"),
    sqlite_autoincrement=True,
)

BY_NODE = (characters, relationships, locations, items, events, lore_mark, aliases, left_out, used, times, block)
"""Tables whose rows belong to a turn and name it alone."""
BY_WORLD = (node, lore, vector, finding)
"""Tables whose rows name their world."""
