"""Whose conversations a connection may touch: the one rule of ownership in the store.

A ``Store`` is bound to a user (``Store.of``) or to everyone (``Store.everyone``, for maintenance). Its connections say
which, so that every function with a connection can ask here. Another user's session is an unknown session: nobody
learns that its id exists. A store may be narrower still (``Store.narrow``): then it knows those sessions, tasks and
worlds of the user alone that were made with one key (decision 17).
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, and_, bindparam, select, true

from errors import SessionUnknown
from store.database import schema
from text.user_name import ME as ME

EVERYONE = None
ANY_KEY = ""
_USER, _KEY = "gieok_user", "gieok_key"
_MADE_WITH = select(schema.session.c.api_key).where(schema.session.c.id == bindparam("session"))
_OWNER = select(schema.session.c.owner).where(schema.session.c.id == bindparam("session"))


def bind_engine(engine: Engine, user: str | None, key: str = ANY_KEY) -> Engine:
    """Returns an engine with the same pool whose connections are the user's; ``EVERYONE`` for maintenance. ``key``: the
    id of the key to whose sessions they are narrowed."""
    return engine.execution_options(**{_USER: user, _KEY: key})


def user_of(connection: Connection) -> str | None:
    """Returns the user of a connection, or ``EVERYONE``. A connection that says neither raises ``KeyError``."""
    user: str | None = connection.get_execution_options()[_USER]
    return user


def key_of(connection: Connection) -> str:
    """Returns the id of the key to which a connection is narrowed, which also made what it creates; ``ANY_KEY`` for
    none."""
    key: str = connection.get_execution_options().get(_KEY, ANY_KEY)
    return key


def owner_of_new(connection: Connection) -> str:
    """Returns the owner of rows that this connection creates. Raises ``ValueError`` for everyone's connection: a row
    without an owner would be nobody's.
    """
    user = user_of(connection)
    if user is EVERYONE:
        raise ValueError("everyone's store creates nothing: use Store.of(user)")
    return user


def can_access_row(connection: Connection, row: Any) -> bool:
    """Returns whether the connection's user may touch what a row with ``owner`` and ``api_key`` belongs to."""
    return user_of(connection) in (EVERYONE, row.owner) and key_of(connection) in (ANY_KEY, row.api_key)


def check_session_owner(connection: Connection, session_id: str, owner: str | None) -> None:
    """Raises ``SessionUnknown`` unless the connection's user may touch the session of ``owner``."""
    if owner is None or user_of(connection) not in (EVERYONE, owner):
        raise SessionUnknown(session=session_id)
    key = key_of(connection)
    if key and connection.execute(_MADE_WITH, {"session": session_id}).scalar_one_or_none() != key:
        raise SessionUnknown(session=session_id)


def check_session(connection: Connection, session_id: str) -> None:
    """Raises ``SessionUnknown`` for a session that is not there or not the user's."""
    check_session_owner(
        connection, session_id, connection.execute(_OWNER, {"session": session_id}).scalar_one_or_none()
    )


def build_owner_condition(connection: Connection, owner: Any) -> ColumnElement[bool]:
    """Returns the condition that a column with an owner names the connection's user, and that its row was made with the
    connection's key where the table says so; no condition for everyone."""
    user, key = user_of(connection), key_of(connection)
    if user is EVERYONE:
        return true()
    own: ColumnElement[bool] = owner == user
    return and_(own, owner.table.c.api_key == key) if key and "api_key" in owner.table.c else own


def in_mine(connection: Connection, session_id: Any) -> ColumnElement[bool]:
    """Returns the condition that a column with a session's id names a session of the connection's user."""
    if user_of(connection) is EVERYONE:
        return true()
    condition: ColumnElement[bool] = session_id.in_(
        select(schema.session.c.id).where(build_owner_condition(connection, schema.session.c.owner))
    )
    return condition


def in_worlds(connection: Connection, world_id: Any) -> ColumnElement[bool]:
    """Returns the condition that a column with a world's id names a world of the connection's user."""
    from store.database.world_table import world

    if user_of(connection) is EVERYONE:
        return true()
    condition: ColumnElement[bool] = world_id.in_(
        select(world.c.id).where(build_owner_condition(connection, world.c.owner))
    )
    return condition
