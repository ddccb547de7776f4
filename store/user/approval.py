"""Foreign tools that a user has allowed for good, each as it was when the user said so (specification 14.2)."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager

from sqlalchemy import Connection, bindparam, delete, insert, select

from store.database import schema
from store.owner import build_owner_condition, owner_of_new

_TABLE = schema.approval
_ALLOWED = select(_TABLE.c.tool).where(
    _TABLE.c.server == bindparam("of_server"),
    _TABLE.c.tool == bindparam("of_tool"),
    _TABLE.c.digest == bindparam("mark"),
)


class Approvals:
    """The approvals of a store's user; ``transaction`` opens a database transaction."""

    def __init__(self, transaction: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._transaction = transaction

    def allows(self, server: str, tool: str, digest: str) -> bool:
        """Returns whether the user has allowed this tool. ``digest``: of its name, description and schema; a tool that
        has changed is another one."""
        values = {"of_server": server, "of_tool": tool, "mark": digest}
        with self._transaction() as connection:
            query = _ALLOWED.where(build_owner_condition(connection, _TABLE.c.owner))
            return connection.execute(query, values).first() is not None

    def allow(self, server: str, tool: str, digest: str) -> None:
        """Keeps that the user has allowed this tool, in place of what was allowed under its name before."""
        with self._transaction() as connection:
            row = {"owner": owner_of_new(connection), "server": server, "tool": tool}
            connection.execute(delete(_TABLE).where(*(_TABLE.c[name] == value for name, value in row.items())))
            connection.execute(insert(_TABLE), {**row, "digest": digest, "created": time.time()})

    def all(self) -> list[tuple[str, str]]:
        """Returns the servers and tools that the user has allowed."""
        with self._transaction() as connection:
            query = select(_TABLE.c.server, _TABLE.c.tool).where(build_owner_condition(connection, _TABLE.c.owner))
            return [
                (row.server, row.tool) for row in connection.execute(query.order_by(_TABLE.c.server, _TABLE.c.tool))
            ]

    def forget(self, server: str) -> None:
        """Forgets what the user has allowed of a server; its tools ask again."""
        with self._transaction() as connection:
            connection.execute(
                delete(_TABLE).where(_TABLE.c.server == server, build_owner_condition(connection, _TABLE.c.owner))
            )
