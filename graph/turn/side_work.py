"""Side work after the answer: one worker thread, and the user's turn goes first (design 5.4).

A piece of work is level-triggered and may be stopped at any moment; stopped work runs again after the answer.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager

from errors import trace
from model.call.stream import Stopped

log = logging.getLogger(__name__)

Work = Callable[[threading.Event], None]
"""A function that does the work; it watches the event and raises ``Stopped`` (or returns) soon after the event is
set."""


class Background:
    """A worker thread and its list of waiting work.

    ``yields``: whether work pauses while a turn runs, because one model serves everything. A turn with models of its
    own passes its own answer to ``turn``.
    """

    def __init__(self, yields: Callable[[], bool]) -> None:
        self.yields = yields
        self._change = threading.Condition()
        self._waiting: dict[Hashable, Work] = {}
        self._running: Hashable | None = None
        self._stop = threading.Event()
        self._turns: list[Callable[[], bool]] = []
        self._closed = False
        self._thread: threading.Thread | None = None

    def submit(self, key: Hashable, work: Work) -> None:
        """Puts work on the list, in place of waiting work with the same key."""
        with self._change:
            if self._closed:
                return
            self._waiting[key] = work
            if self._thread is None:
                self._thread = threading.Thread(target=self._loop, name="background", daemon=True)
                self._thread.start()
            self._change.notify_all()

    @contextmanager
    def turn(self, needed: Callable[[Hashable], bool], yields: Callable[[], bool] | None = None) -> Iterator[None]:
        """Returns a context for the user's turn: stops running work, except work that this turn needs, and holds
        waiting work back.

        ``yields``: whether work pauses for this turn; None: as the worker's own ``yields`` says.
        """
        pauses = yields or self.yields
        with self._change:
            self._turns.append(pauses)
            if self._running is not None and not needed(self._running) and pauses():
                self._stop.set()
        try:
            yield
        finally:
            with self._change:
                self._turns.remove(pauses)
                self._change.notify_all()

    def finish(self, key: Hashable, stop: threading.Event) -> bool:
        """Waits for running work and returns True, or False if ``stop`` is set first; takes waiting work off the list
        and returns False."""
        with self._change:
            self._waiting.pop(key, None)
            if self._running != key:
                return False
            while self._running == key and not stop.is_set():
                self._change.wait(0.05)
            return self._running != key

    def has(self, wanted: Callable[[Hashable], bool]) -> bool:
        """Returns whether work with a wanted key runs or waits."""
        with self._change:
            return any(wanted(key) for key in self._waiting) or (self._running is not None and wanted(self._running))

    def idle(self, seconds: float) -> bool:
        """Waits until no work runs or waits, at most ``seconds``; returns whether the worker is idle then."""
        with self._change:
            return self._change.wait_for(lambda: not self._waiting and self._running is None, seconds)

    def close(self) -> None:
        """Stops the worker at once; the next turn finds again what is left to do."""
        with self._change:
            self._closed = True
            self._waiting.clear()
            self._stop.set()
            self._change.notify_all()
        if self._thread is not None:
            self._thread.join(timeout=5)

    def _loop(self) -> None:
        while (job := self._take()) is not None:
            key, work = job
            try:
                work(self._stop)
                again = False
            except Stopped:
                again = True
            except Exception as error:
                log.error("side work failed: %s", trace(error))
                again = False
            self._settle(key, work, again)

    def _take(self) -> tuple[Hashable, Work] | None:
        with self._change:
            self._change.wait_for(lambda: self._closed or (bool(self._waiting) and not self._held()))
            if self._closed:
                return None
            key = next(iter(self._waiting))
            self._running, self._stop = key, threading.Event()
            return key, self._waiting.pop(key)

    def _held(self) -> bool:
        return any(pauses() for pauses in self._turns)

    def _settle(self, key: Hashable, work: Work, again: bool) -> None:
        with self._change:
            self._running = None
            if again and not self._closed and key not in self._waiting:
                self._waiting[key] = work
            self._change.notify_all()
