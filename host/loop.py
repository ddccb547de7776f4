"""The event loop of all connections to servers, in one thread of the process; it starts with the first use."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from model.call.stream import Stopped

Result = TypeVar("Result")
BEAT = 0.1
"""Seconds between two looks at the stop button while a thread waits for the loop."""
CLOSING_SECONDS = 10.0


class Loop:
    """An event loop in a daemon thread of its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def run(self, work: Coroutine[Any, Any, Result], stop: threading.Event | None = None) -> Result:
        """Runs ``work`` in the loop and waits for its result; cancels it when ``stop`` is set. Raises ``Stopped`` and
        what the work raises."""
        future = asyncio.run_coroutine_threadsafe(work, self._ensure_loop())
        while True:
            try:
                return future.result(BEAT)
            except concurrent.futures.CancelledError:
                raise Stopped from None
            except TimeoutError:
                if future.done():  # the work raised it, or ended just now
                    return future.result()
            if stop is not None and stop.is_set():
                future.cancel()
                raise Stopped

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs ``work``, which raises nothing, in the loop; nobody waits for it."""
        asyncio.run_coroutine_threadsafe(work, self._ensure_loop())

    @property
    def is_started(self) -> bool:
        return self._loop is not None

    def close(self) -> None:
        """Ends the loop and its thread; what still runs in it is cancelled."""
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(CLOSING_SECONDS)

    def _ensure_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=_run_event_loop, args=(self._loop,), name="mcp", daemon=True)
                self._thread.start()
            return self._loop


def _run_event_loop(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        rest = asyncio.all_tasks(loop)
        for task in rest:
            task.cancel()
        if rest:
            loop.run_until_complete(asyncio.gather(*rest, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
