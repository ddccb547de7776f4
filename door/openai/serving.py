"""Starts the endpoint: checks that it may be open at its address, then runs uvicorn's workers."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import uvicorn

from door.openai.running import LEAVE_SECONDS
from door.reach import is_loopback, page_name
from errors import NeedsKey
from settings import Settings, share_metrics
from store import Store

GRACE = int(LEAVE_SECONDS) + 5
"""Seconds that uvicorn waits for its clients after it was told to end."""


def serve(settings: Settings, host: str, port: int, workers: int, say: Callable[[str], None]) -> None:
    """Serves until the process is told to end. ``say``: called with the address. Raises ``NeedsKey`` for an open
    address without a key."""
    if not is_loopback(host):
        store = Store(settings.database)
        has_keys = store.api_keys.any()
        store.close()
        if not has_keys:
            raise NeedsKey(address=host)
    say(f"http://{page_name(host, settings)}:{port}/v1")
    with tempfile.TemporaryDirectory(prefix="gieok-metrics-") as folder:
        if workers > 1:
            share_metrics(Path(folder))
        uvicorn.run(
            "door.openai.app:application",
            factory=True,
            host=host,
            port=port,
            workers=workers,
            log_level="warning",
            access_log=False,
            timeout_graceful_shutdown=GRACE,
        )
