"""A call upstream that is no chat: stopped at once and given up in time, whatever its client does meanwhile.

It runs in a thread of its own and the caller polls, as ``stream`` does: a client that waits for its server, or pauses
before it tries again, looks at nothing.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import TypeVar

from model.cut import Call, current
from model.stream import POLL_SECONDS, Stopped

Made = TypeVar("Made")

stopping: ContextVar[threading.Event | None] = ContextVar("stopping", default=None)
"""What stops the work of this thread, where it is not handed down."""


@contextmanager
def stopped_by(stop: threading.Event | None) -> Iterator[None]:
    """Calls made inside end with ``Stopped`` as soon as ``stop`` is set."""
    before = stopping.set(stop)
    try:
        yield
    finally:
        stopping.reset(before)


def interruptible(work: Callable[[], Made], seconds: float | None = None) -> Made:
    """What ``work`` gives or raises; its requests must go through ``cut.Transport`` to be aborted.

    Raises ``Stopped`` once ``stopping`` is set and ``TimeoutError`` after ``seconds``, in both cases at once.
    """
    call, stop, arrived = Call(), stopping.get(), queue.SimpleQueue[tuple[list[Made], BaseException | None]]()
    until = None if seconds is None else time.monotonic() + seconds

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
        made, error = _next(arrived, stop, until)
    finally:
        call.cut()
    if error is not None:
        raise error
    return made[0]


def _next(arrived: queue.SimpleQueue[Made], stop: threading.Event | None, until: float | None) -> Made:
    while True:
        try:
            return arrived.get(timeout=POLL_SECONDS)
        except queue.Empty:
            if stop is not None and stop.is_set():
                raise Stopped from None
            if until is not None and time.monotonic() > until:
                raise TimeoutError from None
