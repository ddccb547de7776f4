"""Inserts that handle conflicts, on either database."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite


def insert_into(connection: Connection, table: Table) -> Any:
    """Returns an insert that handles conflicts: SQLAlchemy has one class for each of the two databases."""
    return (postgresql if connection.dialect.name == "postgresql" else sqlite).insert(table)
