"""Migration of older databases: adds the columns and indexes that later versions introduced to their tables.

The migration only adds what a table lacks. It changes and removes nothing, so an earlier version can still use the
database.
"""

from __future__ import annotations

import logging

from sqlalchemy import Connection, Engine, Table, inspect
from sqlalchemy.schema import CreateColumn

from store.database.schema import metadata

log = logging.getLogger(__name__)


def migrate(engine: Engine) -> None:
    """Brings the tables of an existing database to the present schema. Repeating the call changes nothing.

    A new column needs a server default or must allow NULL, because rows exist already.
    """
    with engine.begin() as connection:
        for table in metadata.sorted_tables:
            _add_columns(connection, table)
            for index in table.indexes:
                index.create(connection, checkfirst=True)


def _add_columns(connection: Connection, table: Table) -> None:
    known = {column["name"] for column in inspect(connection).get_columns(table.name)}
    for column in table.columns:
        if column.name not in known:
            definition = CreateColumn(column).compile(dialect=connection.dialect)
            connection.exec_driver_sql(f"ALTER TABLE {table.name} ADD COLUMN {definition}")
            log.info("added the column %s to the table %s", column.name, table.name)
