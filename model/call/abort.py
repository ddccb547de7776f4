"""A model call that another thread can cut off at once (design 2.5).

Closing an HTTP client does not wake a thread that waits in ``recv``. Shutting the client's socket down does, and the
server sees the disconnect and stops generating. A call holds a socket only while its thread waits on it: a connection
that went back to the pool belongs to the next call.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import TypeVar

POLL_SECONDS = 0.05
"""Longest time until a stop is noticed, in seconds."""
_T = TypeVar("_T")


class CallCut(Exception):
    """The error of a call that was cut off; nobody waits for its answer."""


class CuttableCall:
    """One running model call: the sockets that it waits on, and whether it was cut off."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._off = threading.Event()

    @property
    def is_cut(self) -> bool:
        """Whether ``cut`` was called."""
        return self._off.is_set()

    def check(self) -> None:
        """Raises ``CallCut`` when the call was cut off."""
        if self.is_cut:
            raise CallCut

    @contextmanager
    def holding(self, connection: socket.socket) -> Iterator[None]:
        """While the block waits on a connection, ``cut`` shuts it down. Raises ``CallCut`` at once after a cut."""
        with self._lock:
            self.check()
            self._sockets.append(connection)
        try:
            yield
        finally:
            with self._lock:
                self._sockets.remove(connection)

    def cut(self) -> None:
        """Shuts down the connections that the call waits on, which wakes its thread. May be called twice."""
        with self._lock:
            self._off.set()
            for connection in self._sockets:
                with contextlib.suppress(OSError):
                    # SSLSocket.shutdown drops its TLS state mid-read
                    socket.socket.shutdown(connection, socket.SHUT_RDWR)

    def wait(self, seconds: float) -> None:
        """Sleeps for ``seconds``; raises ``CallCut`` as soon as the call is cut off."""
        self._off.wait(seconds)
        self.check()


current: ContextVar[CuttableCall | None] = ContextVar("model_call", default=None)
"""The call that this thread works for; None outside ``stream`` and ``run_interruptible``."""


def hold_connection(connection: socket.socket) -> contextlib.AbstractContextManager[None]:
    """Returns ``CuttableCall.holding`` of this thread's call; without a call, a context that does nothing."""
    call = current.get()
    return call.holding(connection) if call else contextlib.nullcontext()


def pause_cuttable_call(seconds: float) -> None:
    """Sleeps for ``seconds``; raises ``CallCut`` as soon as this thread's call is cut off."""
    call = current.get()
    if call:
        call.wait(seconds)
    else:
        time.sleep(seconds)


def run_beside_call(work: Callable[[], _T], seconds: float | None = None) -> _T:
    """Runs work that nothing can cut off, such as the lookup of a name, and returns its result or raises its error.

    Raises ``CallCut`` as soon as this thread's call is cut off, and ``TimeoutError`` after ``seconds``; the work then
    ends unheard. It has a thread of its own, since neither a lookup nor a pipe can be woken from outside. On the way of
    a turn that is only the lookup of a hosted model's name when a connection is opened; a kept one needs none.
    """
    call, ended = current.get() or CuttableCall(), threading.Event()
    results, failures = list[_T](), list[BaseException]()

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            failures.append(error)
        ended.set()

    threading.Thread(target=copy_context().run, args=(run,), name="model-beside", daemon=True).start()
    deadline = None if seconds is None else time.monotonic() + seconds
    while not ended.wait(POLL_SECONDS):
        call.check()
        if deadline is not None and time.monotonic() > deadline:
            raise TimeoutError
    if failures:
        raise failures[0]
    return results[0]


class _Watch:
    """One thread for all running calls of this process: it cuts off a call soon after its stop event is set or its
    time is over."""

    def __init__(self) -> None:
        self._change = threading.Condition()
        self._calls: dict[CuttableCall, Callable[[float], bool]] = {}
        self._thread: threading.Thread | None = None

    @contextmanager
    def over(self, call: CuttableCall, stop: threading.Event | None, until: float | None = None) -> Iterator[None]:
        """Watches the stop event of a call and its latest end (monotonic clock) while the block runs. None: nobody can
        stop the call; it may take as long as it likes."""
        if stop is None and until is None:
            yield
            return

        def is_over(now: float) -> bool:
            return (stop is not None and stop.is_set()) or (until is not None and now > until)

        with self._change:
            self._calls[call] = is_over
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._look, name="model-watch", daemon=True)
                self._thread.start()
            self._change.notify()
        try:
            yield
        finally:
            with self._change:
                del self._calls[call]

    def _look(self) -> None:
        while True:
            with self._change:
                self._change.wait_for(lambda: self._calls)
                now = time.monotonic()
                stopped = [call for call, is_over in self._calls.items() if is_over(now)]
            for call in stopped:
                call.cut()
            time.sleep(POLL_SECONDS)


watch = _Watch()
"""The watch over the calls of this process."""
