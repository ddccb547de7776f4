"""A call upstream that is not a chat: it stops at once and ends in time, whatever its client does meanwhile.

The call runs in its own thread and the caller polls. The client itself could not stop: it checks nothing while it waits
for its server or pauses before a retry.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import TypeVar

from model.call.abort import POLL_SECONDS, Call, current
from model.call.stream import Stopped

Made = TypeVar("Made")

stopping: ContextVar[threading.Event | None] = ContextVar("stopping", default=None)
"""The event that stops the work of this thread, for functions that get no event as an argument."""


@contextmanager
def stopped_by(stop: threading.Event | None) -> Iterator[None]:
    """Makes calls inside the block end with ``Stopped`` as soon as ``stop`` is set."""
    previous = stopping.set(stop)
    try:
        yield
    finally:
        stopping.reset(previous)


def interruptible(work: Callable[[], Made], seconds: float | None = None) -> Made:
    """Runs ``work`` and returns its result or raises its error. Only requests on connections of ``connection.cuttable``
    are aborted.

    Raises ``Stopped`` once ``stopping`` is set and ``TimeoutError`` after ``seconds``, in both cases at once.
    """
    call, stop, arrived = Call(), stopping.get(), queue.SimpleQueue[tuple[list[Made], BaseException | None]]()
    deadline = None if seconds is None else time.monotonic() + seconds

    def run() -> None:
        current.set(call)
        try:
            arrived.put(([work()], None))
        except BaseException as error:
            arrived.put(([], error))

    if stop is not None and stop.is_set():
        raise Stopped
    threading.Thread(target=copy_context().run, args=(run,), name="model-call", daemon=True).start()
    try:
        results, error = _next(arrived, stop, deadline)
    finally:
        call.cut()
    if error is not None:
        raise error
    return results[0]


def _next(arrived: queue.SimpleQueue[Made], stop: threading.Event | None, until: float | None) -> Made:
    while True:
        try:
            return arrived.get(timeout=POLL_SECONDS)
        except queue.Empty:
            if stop is not None and stop.is_set():
                raise Stopped from None
            if until is not None and time.monotonic() > until:
                raise TimeoutError from None
