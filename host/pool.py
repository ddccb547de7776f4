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
    """Connections to the server of ``entry``; everything here runs in the loop of the host."""

    entry: ServerEntry
    seconds: float
    changed: Callable[[], None]
    _idle: list[Connection] = field(default_factory=list)
    _used: set[Connection] = field(default_factory=set)
    _ending: set[Connection] = field(default_factory=set)
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
        connection = await self._connect()
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
            self._close(connection)  # beside the turn, which has waited long enough
            raise
        return connection

    def give(self, connection: Connection) -> None:
        """Takes back a connection whose call is over."""
        self._used.discard(connection)
        connection.rest()
        if connection.ended or self.closed or len(self._idle) >= MOST_IDLE:
            self._close(connection)
        else:
            self._idle.append(connection)

    async def drop(self, connection: Connection) -> None:
        """Closes a connection whose call hangs or was stopped."""
        self._used.discard(connection)
        self._ending.add(connection)
        await connection.close()
        self._ending.discard(connection)

    async def close(self) -> None:
        """Closes all connections; servers of our own end."""
        self.closed = True
        everyone = [*self._idle, *self._used, *self._ending]
        self._idle.clear()
        self._used.clear()
        await asyncio.gather(*(connection.close() for connection in everyone))

    def _close(self, connection: Connection) -> None:
        self._ending.add(connection)
        task = asyncio.ensure_future(self.drop(connection))
        _CLOSING.add(task)
        task.add_done_callback(_CLOSING.discard)


_CLOSING: set[asyncio.Task[None]] = set()
"""Tasks that close connections: the loop alone would let them go."""
