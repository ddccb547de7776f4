"""The connections to one server: an idle one is used again, a call that waits keeps its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from errors import ServerUnreachable
from host.connection import Connection
from host.entry import ServerEntry

MOST_CONNECTIONS = 16
MOST_IDLE = 2


@dataclass(eq=False)
class Pool:
    """Connections to the server of ``entry``; everything here runs in the loop of the host. ``lost`` is called when the
    server cannot be reached and no connection to it is left."""

    entry: ServerEntry
    seconds: float
    changed: Callable[[], None]
    lost: Callable[[ServerUnreachable], None] = lambda _: None
    _idle: list[Connection] = field(default_factory=list)
    _used: set[Connection] = field(default_factory=set)
    _ending: dict[Connection, asyncio.Task[None]] = field(default_factory=dict)
    closed: bool = False

    async def take(self) -> Connection:
        """Returns an idle connection or a new one, whose server may offer other tools than the last (``changed``).
        Raises ``ServerUnreachable``."""
        while self._idle:
            connection = self._idle.pop()
            if not connection.ended:
                self._used.add(connection)
                return connection
        if len(self._used) >= MOST_CONNECTIONS:
            raise ServerUnreachable(reason=f"{MOST_CONNECTIONS} calls wait for an answer already")
        try:
            connection = await self._connect()
        except ServerUnreachable as error:
            if not self._used:
                self.lost(error)
            raise
        self.changed()
        connection.pool = self
        self._used.add(connection)
        return connection

    async def _connect(self) -> Connection:
        """Returns a new connection; the older way is tried where an address refuses the newer one."""
        try:
            return await self._open(older=False)
        except ServerUnreachable as error:
            if self.entry.url is None or self.entry.type is not None or isinstance(error.__cause__, TimeoutError):
                raise
            try:
                return await self._open(older=True)
            except ServerUnreachable:
                raise error from None

    async def _open(self, older: bool) -> Connection:
        connection = Connection(self.entry, self.changed)
        try:
            await connection.open(self.seconds, older)
        except ServerUnreachable:
            self.drop(connection)  # beside the turn, which has waited long enough
            raise
        return connection

    def give(self, connection: Connection) -> None:
        """Takes back a connection whose call is over."""
        self._used.discard(connection)
        connection.rest()
        if connection.ended or self.closed or len(self._idle) >= MOST_IDLE:
            self.drop(connection)
        else:
            self._idle.append(connection)

    def drop(self, connection: Connection) -> None:
        """Closes a connection, such as one whose call hangs or was stopped. Nobody waits for it: a program that does
        not listen takes seconds to end."""
        self._used.discard(connection)
        if connection not in self._ending:
            self._ending[connection] = asyncio.ensure_future(connection.close())
            self._ending[connection].add_done_callback(lambda _: self._ending.pop(connection, None))

    async def close(self) -> None:
        """Closes all connections, and waits for those that are being closed; servers of our own end."""
        self.closed = True
        for connection in (*self._idle, *self._used):
            self.drop(connection)
        self._idle.clear()
        await asyncio.gather(*self._ending.values())
