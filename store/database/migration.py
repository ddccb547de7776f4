"""Migration of older databases to the present schema: numbered steps, after additions that need no number.

Whatever a table lacks and no step adds is added first; that brings any older database to step 0. Then the steps run
that the table ``schema_version`` does not name yet. Every step may run twice, because a crash may come before its
number is written. Every new column has a server default or allows NULL, so an earlier version can still read and write
the database beside this one.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, MetaData, Table, bindparam, func, insert, inspect, select, text, update
from sqlalchemy.schema import CreateColumn, CreateTable

from store.database import schema
from store.history import ENDED, mark_of, owned

log = logging.getLogger(__name__)

BATCH = 500
"""Turns that are marked in one transaction, so that other writers wait only briefly."""


@dataclass(frozen=True, slots=True)
class Step:
    """A numbered migration. ``run`` may be called again after a crash."""

    number: int
    what: str
    run: Callable[[Engine], None]


def migrate(engine: Engine) -> None:
    """Brings the tables of an existing database to the present schema. Repeating the call changes nothing.

    The caller holds the lock of the migration (``store.database.engine.alone``): one process migrates at a time.
    """
    with engine.begin() as connection:
        _add_columns(connection, 0)
    for step in STEPS[_version(engine) :]:
        step.run(engine)
        with engine.begin() as connection:
            connection.execute(insert(schema.schema_version), {"step": step.number, "at": time.time()})
        log.info("migration %d: %s", step.number, step.what)
    with engine.begin() as connection:
        for table in schema.metadata.sorted_tables:
            for index in table.indexes:
                index.create(connection, checkfirst=True)


def _version(engine: Engine) -> int:
    with engine.begin() as connection:
        return connection.execute(select(func.max(schema.schema_version.c.step))).scalar() or 0


def _add_columns(connection: Connection, since: int) -> None:
    """Adds the columns that the tables lack; ``since``: the step that the columns belong to, 0 for none."""
    for table in schema.metadata.sorted_tables:
        columns = [column for column in table.columns if column.info.get("since", 0) == since]
        known = {column["name"] for column in inspect(connection).get_columns(table.name)} if columns else set()
        for column in columns:
            if column.name not in known:
                definition = CreateColumn(column).compile(dialect=connection.dialect)
                connection.exec_driver_sql(f"ALTER TABLE {table.name} ADD COLUMN {definition}")
                log.info("added the column %s to the table %s", column.name, table.name)


def _owners(engine: Engine) -> None:
    """Gives every session, folder and preset an owner. Two users may have presets of the same name."""
    with engine.begin() as connection:
        _writing(connection)
        _own_presets(connection)
        _add_columns(connection, 1)
        for index in ("session_list", "session_folder"):  # the present indexes begin with the owner
            connection.execute(text(f"DROP INDEX IF EXISTS {index}"))


def _own_presets(connection: Connection) -> None:
    """Makes the owner a part of the presets' key; SQLite changes a key only by a new table."""
    key = inspect(connection).get_pk_constraint("preset")
    if "owner" in key["constrained_columns"]:
        return
    if connection.dialect.name == "sqlite":
        _new_table(connection, schema.preset)
        return
    _add_columns(connection, 1)
    connection.execute(text(f'ALTER TABLE preset DROP CONSTRAINT "{key["name"]}"'))
    connection.execute(text("ALTER TABLE preset ADD PRIMARY KEY (owner, name)"))


def _new_table(connection: Connection, table: Table) -> None:
    """Replaces a table by one of the present form with the same rows."""
    columns = ", ".join(column["name"] for column in inspect(connection).get_columns(table.name))
    made = table.to_metadata(MetaData(), name=f"{table.name}_new")
    connection.execute(text(f"DROP TABLE IF EXISTS {made.name}"))
    connection.execute(CreateTable(made))
    connection.execute(text(f"INSERT INTO {made.name} ({columns}) SELECT {columns} FROM {table.name}"))
    connection.execute(text(f"DROP TABLE {table.name}"))
    connection.execute(text(f"ALTER TABLE {made.name} RENAME TO {table.name}"))


def _marks(engine: Engine) -> None:
    """Adds what clients tell (system text, given turns), and marks every finished turn by what it says."""
    with engine.begin() as connection:
        _writing(connection)
        _add_columns(connection, 2)
    last: int | None = None
    while rows := _unmarked(engine, last):
        with engine.begin() as connection:
            connection.execute(_MARKED, [_marked(row) for row in rows])
        last = rows[-1].id


_TURN, _SESSION = schema.turn.c, schema.session.c
_MARKED = update(schema.turn).where(_TURN.id == bindparam("row")).values(mark=bindparam("new_mark"))


def _unmarked(engine: Engine, after: int | None) -> Sequence[Any]:
    """Returns the next finished turns without a mark, after the row ``after``."""
    query = select(_TURN.id, _TURN.question, _TURN.answer, _SESSION.owner).join(
        schema.session, _SESSION.id == _TURN.session_id
    )
    query = query.where(_TURN.mark.is_(None), _TURN.status.in_(ENDED)).order_by(_TURN.id).limit(BATCH)
    with engine.begin() as connection:
        return connection.execute(query if after is None else query.where(_TURN.id > after)).all()


def _marked(row: Any) -> dict[str, Any]:
    return {"row": row.id, "new_mark": owned(mark_of(row.question, row.answer or ""), row.owner)}


def _writing(connection: Connection) -> None:
    """Begins a transaction that writes: SQLite's driver begins none for a statement that changes a table, and a crash
    would leave half a step behind."""
    if connection.dialect.name == "sqlite":
        connection.execute(text("BEGIN IMMEDIATE"))


STEPS = (
    Step(1, "sessions, folders and presets have an owner", _owners),
    Step(2, "sessions keep a client's system text, turns say whether they were given, and have marks", _marks),
)
"""Every migration, in order. A step that was released never changes; the next change is a further step."""
