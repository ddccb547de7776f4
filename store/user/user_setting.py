"""The settings that a user has of their own, by the names of the settings that they replace."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from store.database import schema
from store.owner import build_owner_condition, owner_of_new

_TABLE = schema.user_setting


class UserSettings:
    """The own settings of a store's user; ``transaction`` opens a database transaction."""

    def __init__(self, transaction: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._transaction = transaction

    def read(self) -> dict[str, Any]:
        """Returns the values that the user has set, by name."""
        with self._transaction() as connection:
            query = select(_TABLE.c.name, _TABLE.c.value).where(build_owner_condition(connection, _TABLE.c.owner))
            return {row.name: row.value for row in connection.execute(query)}

    def write(self, name: str, value: Any) -> None:
        """Sets a value, which plain data can hold."""
        with self._transaction() as connection:
            row = {"owner": owner_of_new(connection), "name": name}
            connection.execute(delete(_TABLE).where(*(_TABLE.c[key] == part for key, part in row.items())))
            connection.execute(insert(_TABLE), {**row, "value": value})

    def remove(self, names: Iterable[str]) -> None:
        """Removes values: what the installation has set counts again."""
        with self._transaction() as connection:
            connection.execute(
                delete(_TABLE).where(_TABLE.c.name.in_([*names]), build_owner_condition(connection, _TABLE.c.owner))
            )
