"""Starts the endpoint: checks that it may be open at its address, then runs uvicorn's workers."""

from __future__ import annotations

import errno
import socket
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp
from uvicorn.supervisors import Multiprocess

from errors import NeedsKey, PortTaken
from server.network.reach import claim_port, is_free, page_name
from server.request.running import LEAVE_SECONDS
from settings import Settings, share_metrics
from store import Store
from text.ip_address import is_loopback_address

GRACE = int(LEAVE_SECONDS) + 5
"""Seconds that uvicorn waits for its clients after it was told to end."""
STARTUP_FAILURE = 3
"""The exit code of uvicorn for an application that did not start."""


def make_server(app: ASGIApp, port: int) -> uvicorn.Server:
    """Returns a server of an application at a port of this machine, for whoever runs it in a process of their own."""
    return uvicorn.Server(uvicorn.Config(app, port=port, log_level="warning", access_log=False))


class EndpointServer(uvicorn.Server):
    """A server that listens when its application is made, and says so. ``say``: called then."""

    def __init__(self, config: uvicorn.Config, say: Callable[[], None]) -> None:
        super().__init__(config)
        self._say = say

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        for claimed in sockets or ():
            claimed.listen(self.config.backlog)
        await super().startup(sockets)
        self._say()


class EndpointWorkers(Multiprocess):
    """Workers of which the first that listens is told. ``say``: called then. ``is_port_taken``: whether another program
    listened first, so that they ended."""

    def __init__(self, config: uvicorn.Config, claimed: socket.socket, say: Callable[[], None]) -> None:
        super().__init__(config, [claimed])
        self._claimed, self._say, self._is_told = claimed, say, False
        self.is_port_taken = False

    def keep_subprocess_alive(self) -> None:  # called twice a second
        if not self._is_told:
            host, port = self._claimed.getsockname()[:2]
            is_free_yet = is_free(port, host)
            if self._claimed.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                self._is_told = True
                self._say()
            elif not is_free_yet:  # it has not listened either when it was looked at
                self.is_port_taken = True
                self.should_exit.set()
        super().keep_subprocess_alive()


def serve_endpoint(settings: Settings, host: str, port: int, workers: int, say: Callable[[str], None]) -> None:
    """Serves until the process is told to end. ``say``: called with the address once it is answered there. Raises
    ``NeedsKey`` for an open address without a key, ``BadAddress`` and ``PortTaken``."""
    if not is_loopback_address(host):
        store = Store(settings.database)
        has_keys = store.api_keys.any()
        store.close()
        if not has_keys:
            raise NeedsKey(address=host)
    config = uvicorn.Config(
        "door.endpoint:application",
        factory=True,
        http="server.network.connection:LimitedConnection",
        workers=workers,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=GRACE,
    )
    tell = partial(say, f"http://{page_name(host, settings)}:{port}/v1")
    with claim_port(host, port) as claimed, tempfile.TemporaryDirectory(prefix="gieok-metrics-") as folder:
        if workers > 1:
            share_metrics(Path(folder))
            claimed.set_inheritable(True)
            supervisor = EndpointWorkers(config, claimed, tell)
            supervisor.run()
            if supervisor.is_port_taken:
                raise PortTaken(address=host, port=port)
            return
        server = EndpointServer(config, tell)
        try:
            with suppress(KeyboardInterrupt):  # uvicorn raises it once more when it has ended
                server.run(sockets=[claimed])
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise PortTaken(address=host, port=port) from error
            raise
    if not server.started:  # uvicorn has logged why
        raise SystemExit(STARTUP_FAILURE)
