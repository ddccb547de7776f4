"""Opens the rows, and brings memories of earlier releases into them.

Before memory was rows (decision 4), it was one JSON state in the table ``memory_session``, beside Redis, and the
versions held their own copies of turns. The old tables are set aside under other names first, then every memory is
converted in a transaction of its own, then they are removed. Each step may run again after a crash. A memory that
cannot be read stays where it was set aside, and so do the tables.
"""

from __future__ import annotations

import contextlib
import json
import logging
from typing import Any

from sqlalchemy import Connection, Engine, Row, inspect, text

from memory.export.conversion import convert_memory
from memory.export.portable import parse_memories, write_memory
from memory.row.rows import MemoryRows
from memory.writer import put_user
from store import Store
from store.database import memory_table as table
from store.database.engine import lock_schema, translate_database_errors, where_is
from store.database.schema import metadata
from text.clean import parse_json

log = logging.getLogger(__name__)

OLD = ("memory_session", "memory_version", "memory_queue", "memory_erased", "memory_withheld")
ASIDE = "_before_rows"
DROPPED_WITH_THEM = ("memory_session_by_update", "memory_session_waiting", "memory_queue_by_scope")


def open_rows(store: Store) -> MemoryRows:
    """Returns the rows of a database; creates the tables that are missing and converts those of earlier releases."""
    rows = MemoryRows(store)
    with translate_database_errors(where_is(rows.engine.url)), lock_schema(rows.engine):
        set_old_tables_aside(rows.engine)
        metadata.create_all(rows.engine, tables=table.TABLES)
        convert_old_tables(rows.engine)
    return rows


def set_old_tables_aside(engine: Engine) -> None:
    """Renames the tables of earlier releases."""
    known = set(inspect(engine).get_table_names())
    with engine.begin() as connection:
        for name in OLD:
            if name in known and f"{name}{ASIDE}" not in known:
                connection.execute(text(f"ALTER TABLE {name} RENAME TO {name}{ASIDE}"))
        for index in DROPPED_WITH_THEM:
            connection.execute(text(f"DROP INDEX IF EXISTS {index}"))


def convert_old_tables(engine: Engine) -> None:
    """Writes the memories of the tables that were set aside as rows, and removes these tables when all were."""
    known = set(inspect(engine).get_table_names())
    aside = [f"{name}{ASIDE}" for name in OLD if f"{name}{ASIDE}" in known]
    if f"memory_session{ASIDE}" in aside and not _convert_all(engine):
        return
    with engine.begin() as connection:
        for name in aside:
            connection.execute(text(f"DROP TABLE {name}"))


def _convert_all(engine: Engine) -> bool:
    """Converts memory after memory, and removes each that became rows; returns whether all did."""
    left = 0
    with engine.begin() as connection:
        found = connection.execute(text(f"SELECT * FROM memory_session{ASIDE}")).all()
    rows = sorted(found, key=lambda row: not row.session)  # the users' own memories last
    for row in rows:
        with engine.begin() as connection:
            versions = _old_versions(connection, row.scope)
            try:
                made = convert_memory(parse_json(row.state), versions)
                made["session"] = row.session
                [memory] = parse_memories([made])
            except (LookupError, TypeError, ValueError, AttributeError) as error:
                log.error("a memory of an earlier release cannot be read: %s", type(error).__name__)
                left += 1
                continue
            if row.session or memory.lines:
                write_memory(connection, row.tenant, row.user, memory, is_old=True)
            if not row.session:
                _set_user(connection, row)
            connection.execute(text(f"DELETE FROM memory_session{ASIDE} WHERE scope = :scope"), {"scope": row.scope})
    return not left


def _set_user(connection: Connection, row: Row[Any]) -> None:
    """Keeps the user's switch for carrying memory over."""
    if json.loads(row.state)["meta"].get("apart"):
        put_user(connection, row.tenant, row.user, apart=True)


def _old_versions(connection: Connection, scope: str) -> list[dict[str, Any]]:
    query = text(
        f"SELECT data FROM memory_version{ASIDE} WHERE scope = :scope AND undone = :undone ORDER BY number, id"
    )
    found = connection.execute(query, {"scope": scope, "undone": False}).scalars()
    return [json.loads(data) for data in found]


def remove_old_files(folder: Any) -> None:
    """Removes the append-only files of the embedded server of earlier releases: what Redis holds now is a copy."""
    for file in [*folder.glob("appendonlydir/*")]:
        with contextlib.suppress(OSError):
            file.unlink()
    with contextlib.suppress(OSError):
        (folder / "appendonlydir").rmdir()
