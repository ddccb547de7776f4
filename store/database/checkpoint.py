"""Where LangGraph keeps the state: a SQLite file beside the record, or the same PostgreSQL database (design 3.8).

Msgpack is strict: a blob may name only LangChain's messages and plain types, so a crafted file cannot run code.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, ChannelVersions, Checkpoint, CheckpointMetadata
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import INTERRUPT, RESUME
from langgraph.checkpoint.sqlite import SqliteSaver

from errors import MissingExtra
from store.database.engine import (
    BUSY_SECONDS,
    CHECKPOINTS,
    CONNECT_SECONDS,
    MAKING,
    POSTGRES,
    alone_with,
    limit_connecting,
    make_private,
    parse_database_url,
    translate_database_errors,
)

_OLDER = """DELETE FROM {table} WHERE thread_id = ?
    AND checkpoint_id < (SELECT max(checkpoint_id) FROM checkpoints WHERE thread_id = ?)"""

POOL = 10


@dataclass(frozen=True)
class Checkpoints:
    """A LangGraph saver with two functions for its upkeep: ``prune`` deletes all checkpoints of a session except the
    newest; ``close`` closes the connection.
    """

    saver: BaseCheckpointSaver[Any]
    prune: Callable[[str], None]
    close: Callable[[], None]


def checkpoints_in_memory() -> Checkpoints:
    """Returns checkpoints that exist only in memory and are lost when they are closed."""
    return _in_sqlite(sqlite3.connect(":memory:", check_same_thread=False), "the checkpoints")


def open_checkpoints(database_url: str | None, data_dir: Path) -> Checkpoints:
    """Opens the checkpoints of the store: PostgreSQL when ``database_url`` names one, else a SQLite file."""
    if database_url and database_url.startswith("postgres"):
        return _open_postgres_checkpoints(database_url)
    return _open_sqlite_checkpoints(data_dir / CHECKPOINTS)


def _build_serializer() -> JsonPlusSerializer:
    return JsonPlusSerializer(allowed_msgpack_modules=None)


def _open_sqlite_checkpoints(path: Path) -> Checkpoints:
    with translate_database_errors(str(path)):
        make_private(path)
        connection = sqlite3.connect(path, check_same_thread=False, timeout=BUSY_SECONDS)
        with alone_with(path):
            connection.execute("PRAGMA journal_mode=WAL")
            # survives kill -9; after a power cut the record rebuilds the state
            connection.execute("PRAGMA synchronous=NORMAL")
            return _in_sqlite(connection, str(path))


def _in_sqlite(connection: sqlite3.Connection, where: str) -> Checkpoints:
    saver = _Steps(connection, serde=_build_serializer())
    saver.setup()

    def prune(thread_id: str) -> None:
        with translate_database_errors(where), saver.lock, connection:
            for table in ("writes", "checkpoints"):
                connection.execute(_OLDER.format(table=table), (thread_id, thread_id))

    def close() -> None:
        with saver.lock:  # a turn may write at this moment; SQLite crashes when its connection closes meanwhile
            connection.close()

    return Checkpoints(saver, prune, close)


class _Steps(SqliteSaver):
    """A saver that stores only the checkpoints between two nodes. A graph that runs its nodes one by one needs no more.

    LangGraph also saves the input before the first step. Beside each checkpoint LangGraph saves the writes of the nodes
    that have finished in the running step, so that these nodes need not run again when another node of the step fails.
    Here the record holds the question, and a checkpoint follows every node at once: if the process ends in between, the
    turn or the node begins anew. Only questions to the user and the user's answers are kept beside a checkpoint.
    """

    def put(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, versions: ChannelVersions
    ) -> RunnableConfig:
        return config if metadata["source"] == "input" else super().put(config, checkpoint, metadata, versions)

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        kept = [(channel, value) for channel, value in writes if channel in (INTERRUPT, RESUME)]
        if kept:
            super().put_writes(config, kept, task_id, task_path)


def _open_postgres_checkpoints(url: str) -> Checkpoints:
    try:
        from langgraph.checkpoint.postgres import PostgresSaver
        from psycopg.rows import dict_row
        from psycopg_pool import ConnectionPool
    except ModuleNotFoundError as error:
        raise MissingExtra(feature="PostgreSQL", package=POSTGRES) from error
    pool: ConnectionPool[Any] = ConnectionPool(
        re.sub(r"^postgres(ql)?(\+\w+)?://", "postgresql://", url),
        kwargs={
            "autocommit": True,
            "prepare_threshold": 0,
            "row_factory": dict_row,
            **limit_connecting(parse_database_url(url)),
        },
        min_size=1,
        max_size=POOL,
        # A turn waits no longer for a server that is away. And the pool's pauses between its tries double: after these
        # seconds it gives up, and the next turn has it try at once, so that a server that is back is used at once.
        timeout=float(CONNECT_SECONDS),
        reconnect_timeout=float(CONNECT_SECONDS),
        check=ConnectionPool.check_connection,  # replaces a connection that the server dropped
        open=False,
    )
    with ExitStack() as undo, translate_database_errors("DATABASE_URL"):
        undo.callback(pool.close)
        pool.open(wait=True, timeout=float(CONNECT_SECONDS))
        saver = PostgresSaver(pool, serde=_build_serializer())
        with pool.connection() as connection, _lock_checkpoint_tables(connection):
            saver.setup()
        undo.pop_all()

    def prune(thread_id: str) -> None:
        with translate_database_errors("DATABASE_URL"):
            saver.prune([thread_id])

    return Checkpoints(saver, prune, pool.close)


@contextmanager
def _lock_checkpoint_tables(connection: Any) -> Iterator[None]:
    """Lets one process at a time create the tables.

    Polls for the lock instead of waiting inside the server: a waiting statement holds a snapshot, and ``CREATE INDEX
    CONCURRENTLY`` in turn waits for that snapshot.
    """
    key = (MAKING + 1,)
    while not connection.execute("SELECT pg_try_advisory_lock(%s) AS free", key).fetchone()["free"]:
        time.sleep(0.05)
    try:
        yield
    finally:
        connection.execute("SELECT pg_advisory_unlock(%s)", key)
