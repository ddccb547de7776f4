"""A call upstream that is not a chat: it stops at once and ends in time, whatever its client does meanwhile.

The call runs in the caller's own thread. The one thread of ``abort.watch`` shuts its connection down when it is stopped
or late: the client itself could not stop, since it checks nothing while it waits for its server or pauses.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from model.call.abort import CuttableCall, current, watch
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


def run_interruptible(work: Callable[[], Made], seconds: float | None = None) -> Made:
    """Runs ``work`` in this thread and returns its result or raises its error.

    ``work`` waits for connections of ``connection.make_cuttable``, in ``abort.pause_cuttable_call`` and in
    ``abort.run_beside_call`` only; nothing else that it waits for ends early. Raises ``Stopped`` once ``stopping`` is
    set and ``TimeoutError`` after ``seconds``, in both cases soon.
    """
    call, stop = CuttableCall(), stopping.get()
    if stop is not None and stop.is_set():
        raise Stopped
    previous = current.set(call)
    try:
        with watch.over(call, stop, None if seconds is None else time.monotonic() + seconds):
            made = work()
        call.check()  # a connection that is shut down can look like the end of an answer
        return made
    except Exception:
        if not call.is_cut:
            raise
        # the error of a connection that was shut down, in whatever form the client passes it on
        raise (Stopped if stop is not None and stop.is_set() else TimeoutError) from None
    finally:
        current.reset(previous)
