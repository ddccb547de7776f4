"""What all parts of ``Worlds`` share: a transaction, and the one check whose world it is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Self

from sqlalchemy import Connection, bindparam, select, update

from errors import WorldUnknown
from store.database import schema
from store.database import world_table as table
from store.owner import can_access_row

_WORLD = table.world.c
_OWNER = select(_WORLD.owner, _WORLD.api_key, _WORLD.revision).where(_WORLD.id == bindparam("of_world"))


class WorldRows:
    """``transaction`` opens a database transaction, whose connection says whose it is (``store.owner``)."""

    def __init__(self, transaction: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._transaction = transaction

    @contextmanager
    def together(self) -> Iterator[Self]:
        """Yields the same rows in one transaction, for several reads in a row: opening one costs as much as a small
        read."""
        with self._transaction() as connection:
            yield type(self)(lambda: nullcontext(connection))


def lock_world_row(connection: Connection, world_id: str) -> None:
    """Keeps other transactions from changing a world until this one ends. Whoever changes rows of several turns, or
    turns and the world's row, locks first: two that begin with different rows would wait for each other."""
    connection.execute(update(table.world).where(_WORLD.id == world_id).values(slug=_WORLD.slug))


def lock_world_of_session(connection: Connection, session_id: str) -> None:
    """Locks the world whose story a conversation is (``lock_world_row``), if it is one. Nothing is read before, for
    SQLite may refuse to write what was read before another wrote."""
    own = select(schema.session.c.world).where(schema.session.c.id == session_id).scalar_subquery()
    connection.execute(update(table.world).where(_WORLD.id == own).values(updated=time.time()))


def check_world(connection: Connection, world_id: str) -> str:
    """Returns the owner of a world. Raises ``WorldUnknown`` for one that is not there or not the user's."""
    return _load_world_row(connection, world_id)[0]


def revision_of(connection: Connection, world_id: str) -> int:
    """Returns the revision of a world of the user's. Raises ``WorldUnknown``."""
    return _load_world_row(connection, world_id)[1]


def _load_world_row(connection: Connection, world_id: str) -> tuple[str, int]:
    row = connection.execute(_OWNER, {"of_world": world_id}).one_or_none()
    if row is None or not can_access_row(connection, row):
        raise WorldUnknown(world="")
    return str(row.owner), int(row.revision)
