"""Starts the endpoint: checks that it may be open at its address, then runs uvicorn's workers."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp
from uvicorn.supervisors import Multiprocess

from errors import NeedsKey
from server.network.reach import open_listening_socket, page_name
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


def serve_endpoint(settings: Settings, host: str, port: int, workers: int, say: Callable[[str], None]) -> None:
    """Serves until the process is told to end. ``say``: called with the address once it is ours. Raises ``NeedsKey``
    for an open address without a key, ``BadAddress`` and ``PortTaken``."""
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
    with open_listening_socket(host, port) as listening, tempfile.TemporaryDirectory(prefix="gieok-metrics-") as folder:
        say(f"http://{page_name(host, settings)}:{port}/v1")
        if workers > 1:
            share_metrics(Path(folder))
            listening.set_inheritable(True)
            Multiprocess(config, sockets=[listening]).run()
            return
        server = uvicorn.Server(config)
        with suppress(KeyboardInterrupt):  # uvicorn raises it once more when it has ended
            server.run(sockets=[listening])
    if not server.started:  # uvicorn has logged why
        raise SystemExit(STARTUP_FAILURE)
