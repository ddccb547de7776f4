"""What all parts of ``Worlds`` share: a transaction, and the one check whose world it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Self

from sqlalchemy import Connection, bindparam, select

from errors import WorldUnknown
from store.database import world_table as table
from store.owner import may

_WORLD = table.world.c
_OWNER = select(_WORLD.owner, _WORLD.api_key, _WORLD.revision).where(_WORLD.id == bindparam("of_world"))


class Rows:
    """``transaction`` opens a database transaction, whose connection says whose it is (``store.owner``)."""

    def __init__(self, transaction: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._transaction = transaction

    @contextmanager
    def together(self) -> Iterator[Self]:
        """Yields the same rows in one transaction, for several reads in a row: opening one costs as much as a small
        read."""
        with self._transaction() as connection:
            yield type(self)(lambda: nullcontext(connection))


def check_world(connection: Connection, world_id: str) -> str:
    """Returns the owner of a world. Raises ``WorldUnknown`` for one that is not there or not the user's."""
    return _row(connection, world_id)[0]


def revision_of(connection: Connection, world_id: str) -> int:
    """Returns the revision of a world of the user's. Raises ``WorldUnknown``."""
    return _row(connection, world_id)[1]


def _row(connection: Connection, world_id: str) -> tuple[str, int]:
    row = connection.execute(_OWNER, {"of_world": world_id}).one_or_none()
    if row is None or not may(connection, row):
        raise WorldUnknown(world="")
    return str(row.owner), int(row.revision)
