"""What all parts of ``Worlds`` share: a transaction, and the one check whose world it is."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from sqlalchemy import Connection, select

from errors import WorldUnknown
from store.database import world_table as table
from store.owner import may


class Rows:
    """``transaction`` opens a database transaction, whose connection says whose it is (``store.owner``)."""

    def __init__(self, transaction: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._transaction = transaction


def check_world(connection: Connection, world_id: str) -> str:
    """Returns the owner of a world. Raises ``WorldUnknown`` for one that is not there or not the user's."""
    owner = connection.execute(select(table.world.c.owner).where(table.world.c.id == world_id)).scalar_one_or_none()
    if not may(connection, owner):
        raise WorldUnknown(world="")
    return str(owner)
