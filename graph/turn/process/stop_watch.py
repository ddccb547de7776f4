"""Stops a turn when another process asks for it: one thread looks once a second at all running turns of this process.

The request is a mark in the database (``store.turn.stop``). The thread also looks while a model is silent: the turn's
own thread waits for the model then.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from errors import GieokError
from store import Store

log = logging.getLogger(__name__)

SECONDS = 1.0
"""Seconds between two looks."""


class StopWatch:
    """The running turns of a process, by session, and a thread that lives as long as one of them runs."""

    def __init__(self, store: Store) -> None:
        self._stops = store.everyone.stops
        self._change = threading.Condition()
        self._running: dict[str, threading.Event] = {}
        self._thread: threading.Thread | None = None

    @contextmanager
    def watching(self, session_id: str, stop: threading.Event) -> Iterator[None]:
        """Sets ``stop`` inside the block when another process asks for the end of the session's turn."""
        with self._change:
            self._running[session_id] = stop
            if self._thread is None:
                self._thread = threading.Thread(target=self._loop, name="stop-watch", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._change:
                del self._running[session_id]
                self._change.notify_all()

    def _loop(self) -> None:
        while True:
            with self._change:
                # turns that end within a second are the usual case: then nothing is looked up
                if self._change.wait_for(lambda: not self._running, SECONDS):
                    self._thread = None
                    return
                running = dict(self._running)
            self._look(running)

    def _look(self, running: dict[str, threading.Event]) -> None:
        try:
            for session_id in self._stops.find_requested_stops(running):
                running[session_id].set()
        except GieokError as error:  # the next look finds the request
            log.info("requests to stop could not be read: %s", error.code)
