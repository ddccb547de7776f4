"""Where LangGraph keeps the state: SQLite beside the record, or the same PostgreSQL (design §3).

Strict msgpack: a blob may only name LangChain's messages and plain types, so a crafted file cannot run code.
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
from langgraph.checkpoint.sqlite import SqliteSaver

from errors import MissingExtra
from store.database import BUSY_SECONDS, MAKING, POSTGRES, alone_with, translated

_OLDER = """DELETE FROM {table} WHERE thread_id = ?
    AND checkpoint_id < (SELECT max(checkpoint_id) FROM checkpoints WHERE thread_id = ?)"""

POOL = 10
CONNECT_SECONDS = 10.0


@dataclass(frozen=True)
class Checkpoints:
    """A saver with what LangGraph's own lacks: ``prune`` leaves only the newest checkpoint of a session."""

    saver: BaseCheckpointSaver[Any]
    prune: Callable[[str], None]
    close: Callable[[], None]


def open_checkpoints(database_url: str | None, data_dir: Path) -> Checkpoints:
    """The checkpoints that belong to the store: PostgreSQL when the address says so, else a SQLite file."""
    if database_url and database_url.startswith("postgres"):
        return _postgres(database_url)
    return _sqlite(data_dir / "checkpoint.db")


def _serializer() -> JsonPlusSerializer:
    return JsonPlusSerializer(allowed_msgpack_modules=None)


def _sqlite(path: Path) -> Checkpoints:
    with translated(str(path)):
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, check_same_thread=False, timeout=BUSY_SECONDS)
        with alone_with(path):
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute(
                "PRAGMA synchronous=NORMAL"
            )  # survives kill -9; after a power cut the record rebuilds it
            saver = _Steps(connection, serde=_serializer())
            saver.setup()

    def prune(thread_id: str) -> None:
        with translated(str(path)), saver.lock, connection:
            for table in ("writes", "checkpoints"):
                connection.execute(_OLDER.format(table=table), (thread_id, thread_id))

    return Checkpoints(saver, prune, connection.close)


class _Steps(SqliteSaver):
    """Of a run its checkpoints between two nodes, which is all that a graph needs whose nodes run one by one.

    LangGraph also saves the input before its first step, and beside each checkpoint what the nodes of the step have
    written so far, for those that need not run again beside one that failed. Here the record has the question, and
    the checkpoint follows on the node at once: a process that ends in between begins the turn, or the node, anew.
    """

    def put(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, versions: ChannelVersions
    ) -> RunnableConfig:
        return config if metadata["source"] == "input" else super().put(config, checkpoint, metadata, versions)

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        pass


def _postgres(url: str) -> Checkpoints:
    try:
        from langgraph.checkpoint.postgres import PostgresSaver
        from psycopg.rows import dict_row
        from psycopg_pool import ConnectionPool
    except ModuleNotFoundError as error:
        raise MissingExtra(feature="PostgreSQL", package=POSTGRES) from error
    pool: ConnectionPool[Any] = ConnectionPool(
        re.sub(r"^postgres(ql)?(\+\w+)?://", "postgresql://", url),
        kwargs={"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row},
        min_size=1,
        max_size=POOL,
        check=ConnectionPool.check_connection,  # a connection that the server dropped is replaced
        open=False,
    )
    with ExitStack() as undo, translated("DATABASE_URL"):
        undo.callback(pool.close)
        pool.open(wait=True, timeout=CONNECT_SECONDS)
        saver = PostgresSaver(pool, serde=_serializer())
        with pool.connection() as connection, _making(connection):
            saver.setup()
        undo.pop_all()

    def prune(thread_id: str) -> None:
        with translated("DATABASE_URL"):
            saver.prune([thread_id])

    return Checkpoints(saver, prune, pool.close)


@contextmanager
def _making(connection: Any) -> Iterator[None]:
    """One process at a time makes the tables. It asks again and again: one that waits inside the server holds a
    snapshot, which ``CREATE INDEX CONCURRENTLY`` waits for in turn."""
    key = (MAKING + 1,)
    while not connection.execute("SELECT pg_try_advisory_lock(%s) AS free", key).fetchone()["free"]:
        time.sleep(0.05)
    try:
        yield
    finally:
        connection.execute("SELECT pg_advisory_unlock(%s)", key)
