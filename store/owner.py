"""Whose conversations a connection may touch: the one rule of ownership in the store.

A ``Store`` is bound to a user (``Store.of``) or to everyone (``Store.everyone``, for maintenance). Its connections say
which, so that every function with a connection can ask here. Another user's session is an unknown session: nobody
learns that its id exists.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, bindparam, select, true

from errors import SessionUnknown
from store.database import schema

ME = schema.ME
EVERYONE = None
_USER = "gieok_user"
_OWNER = select(schema.session.c.owner).where(schema.session.c.id == bindparam("session"))


def bound(engine: Engine, user: str | None) -> Engine:
    """Returns an engine with the same pool whose connections are the user's; ``EVERYONE`` for maintenance."""
    return engine.execution_options(**{_USER: user})


def user_of(connection: Connection) -> str | None:
    """Returns the user of a connection, or ``EVERYONE``. A connection that says neither raises ``KeyError``."""
    user: str | None = connection.get_execution_options()[_USER]
    return user


def owner_of_new(connection: Connection) -> str:
    """Returns the owner of rows that this connection creates. Raises ``ValueError`` for everyone's connection: a row
    without an owner would be nobody's.
    """
    user = user_of(connection)
    if user is EVERYONE:
        raise ValueError("everyone's store creates nothing: use Store.of(user)")
    return user


def may(connection: Connection, owner: str | None) -> bool:
    """Returns whether the connection's user may touch what ``owner`` has. ``owner``: None when there is no such row."""
    return owner is not None and user_of(connection) in (EVERYONE, owner)


def check(connection: Connection, session_id: str, owner: str | None) -> None:
    """Raises ``SessionUnknown`` unless the connection's user may touch the session of ``owner``."""
    if not may(connection, owner):
        raise SessionUnknown(session=session_id)


def check_session(connection: Connection, session_id: str) -> None:
    """Raises ``SessionUnknown`` for a session that is not there or not the user's."""
    check(connection, session_id, connection.execute(_OWNER, {"session": session_id}).scalar_one_or_none())


def mine(connection: Connection, owner: Any) -> ColumnElement[bool]:
    """Returns the condition that a column with an owner names the connection's user; no condition for everyone."""
    user = user_of(connection)
    return true() if user is EVERYONE else owner == user


def in_mine(connection: Connection, session_id: Any) -> ColumnElement[bool]:
    """Returns the condition that a column with a session's id names a session of the connection's user."""
    if user_of(connection) is EVERYONE:
        return true()
    condition: ColumnElement[bool] = session_id.in_(
        select(schema.session.c.id).where(mine(connection, schema.session.c.owner))
    )
    return condition


def in_worlds(connection: Connection, world_id: Any) -> ColumnElement[bool]:
    """Returns the condition that a column with a world's id names a world of the connection's user."""
    from store.database.world_table import world

    if user_of(connection) is EVERYONE:
        return true()
    condition: ColumnElement[bool] = world_id.in_(select(world.c.id).where(mine(connection, world.c.owner)))
    return condition
