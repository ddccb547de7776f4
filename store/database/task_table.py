"""Tables of tasks that other agents gave us (A2A), of the addresses that want to hear of them, and of what these were
not told yet (``store.task.task``, ``store.task.push``)."""

from __future__ import annotations

from sqlalchemy import Boolean, Column, Float, Index, Integer, LargeBinary, String, Table

from store.database.schema import ALIAS_CHARS, KEY_CHARS, OWNER_CHARS, ExactName, ExactText, metadata

WORKER_CHARS = 200

task = Table(
    "agent_task",
    metadata,
    Column("id", ExactName(64), primary_key=True),
    Column("owner", ExactName(OWNER_CHARS), nullable=False),
    Column("context", ExactName(ALIAS_CHARS), nullable=False),
    Column("state", String(16), nullable=False),
    Column("ended", Boolean, nullable=False),
    Column("version", Integer, nullable=False),
    Column("worker", String(WORKER_CHARS), nullable=False),
    Column("beat", Float, nullable=False),
    Column("updated", Float, nullable=False),
    Column("world_id", ExactName(64), nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("api_key", ExactName(KEY_CHARS), nullable=False, server_default=""),
    Index("agent_task_of_owner", "owner", "updated", "id"),
    Index("agent_task_in_context", "owner", "context", "state"),
    Index("agent_task_open", "ended", "worker"),
    Index("agent_task_in_world", "world_id"),
)
"""``body``: the task in the protocol's own form, which only the door reads. ``version`` rises with every change.
``world_id``: of the world whose story it goes on with, else empty.
``api_key``: as of a session.
``worker``: the process that runs it (``store.worker``); ``beat``: when that process last said that it lives."""

push = Table(
    "agent_push",
    metadata,
    Column("task_id", ExactName(64), primary_key=True),
    Column("id", ExactName(ALIAS_CHARS), primary_key=True),
    Column("owner", ExactName(OWNER_CHARS), nullable=False),
    Column("form", String(8), nullable=False),
    Column("body", LargeBinary, nullable=False),
)
"""Addresses that are told of a task's changes. ``form``: in which generation of the protocol."""

undelivered = Table(
    "agent_undelivered",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("task_id", ExactName(64), nullable=False),
    Column("push_id", ExactName(ALIAS_CHARS), nullable=False),
    Column("text", ExactText, nullable=False),
    Column("tries", Integer, nullable=False),
    Column("worker", String(WORKER_CHARS), nullable=False),
    Column("created", Float, nullable=False),
    Index("agent_undelivered_of_task", "task_id", "push_id", "id"),
    sqlite_autoincrement=True,
)
"""What an address was not told yet. ``worker``: the process that delivers it; ``tries``: how often it tried."""
