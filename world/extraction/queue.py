"""One worker thread and the keys that wait for it: work behind answers that may wait, be interrupted and come again."""

from __future__ import annotations

import heapq
import logging
import threading
import time
from collections.abc import Callable
from itertools import count

from errors import format_error_trace
from model.call.stream import Stopped

log = logging.getLogger("gieok.world")

Work = Callable[[str, threading.Event], float | None]
"""Does what is due for a key; returns None, or the seconds after which the key is to come again. It watches the event,
and raises ``Stopped`` soon after it is set."""
MOST_INTERRUPTED = 2
"""How often in a row the work of a key may be interrupted: it must come to an end."""
MOST_FAILURES = 5
"""After so many unexpected errors in a row, a key is dropped until it is put again."""

CLOSE_SECONDS = 5.0
"""How long the end of a queue waits for work that is under way."""


class Queue:
    """Runs the work of one key after the other. A key that is put while its work runs comes again afterwards.

    ``pause``: seconds before interrupted work begins again, unless its key is put earlier.
    """

    def __init__(self, name: str, work: Work, pause: float = 20.0) -> None:
        self._name, self._work, self._pause = name, work, pause
        self._change = threading.Condition()
        self._waiting: dict[str, float] = {}
        self._order: list[tuple[float, int, str]] = []
        self._number = count()
        self._failures: dict[str, int] = {}
        self._cut: dict[str, int] = {}
        self._running: str | None = None
        self._stop = threading.Event()
        self._closed = False
        self._thread: threading.Thread | None = None

    def put(self, key: str, after: float = 0.0) -> None:
        """Has the key come after so many seconds; sooner, if it waits already for longer."""
        with self._change:
            due = time.monotonic() + after
            if self._closed or self._waiting.get(key, float("inf")) <= due:
                return
            self._waiting[key] = due
            heapq.heappush(self._order, (due, next(self._number), key))
            if self._thread is None:
                self._thread = threading.Thread(target=self._loop, name=self._name, daemon=True)
                self._thread.start()
            self._change.notify_all()

    def interrupt(self) -> None:
        """Stops the work that runs, unless it was stopped too often; it begins again after the pause."""
        with self._change:
            key = self._running
            if key is not None and self._cut.get(key, 0) < MOST_INTERRUPTED and not self._stop.is_set():
                self._cut[key] = self._cut.get(key, 0) + 1
                self._stop.set()

    def idle(self, seconds: float) -> bool:
        """Waits until nothing runs or waits, at most ``seconds``; returns whether it is so."""
        with self._change:
            return self._change.wait_for(lambda: not self._waiting and self._running is None, seconds)

    def close(self) -> None:
        """Ends the thread at once; what waits stays undone."""
        with self._change:
            self._closed = True
            self._waiting.clear()
            self._stop.set()
            self._change.notify_all()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout=CLOSE_SECONDS)

    def _loop(self) -> None:
        while (key := self._next()) is not None:
            again = self._run(key)
            with self._change:
                if again is not None:
                    self.put(key, again)
                self._running = None
                self._change.notify_all()

    def _run(self, key: str) -> float | None:
        try:
            again = self._work(key, self._stop)
        except Stopped:
            return self._pause
        except Exception as error:
            log.error("work behind a story failed: %s", format_error_trace(error))
            self._failures[key] = failures = self._failures.get(key, 0) + 1
            if failures < MOST_FAILURES:
                return self._again_after(failures)
            del self._failures[key]
            self._cut.pop(key, None)
            return None
        self._failures.pop(key, None)
        self._cut.pop(key, None)
        return again

    @staticmethod
    def _again_after(failures: int) -> float:
        """Returns after how many seconds work is tried again that failed so often in a row."""
        return 2.0**failures

    def _next(self) -> str | None:
        """Waits for the next key and returns it; None when the queue is closed."""
        with self._change:
            while not self._closed:
                while self._order and self._waiting.get(self._order[0][2]) != self._order[0][0]:
                    heapq.heappop(self._order)
                due = self._order[0][0] - time.monotonic() if self._order else None
                if due is not None and due <= 0:
                    key = heapq.heappop(self._order)[2]
                    del self._waiting[key]
                    self._running, self._stop = key, threading.Event()
                    return key
                self._change.wait(due)
        return None
