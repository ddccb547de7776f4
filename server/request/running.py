"""Runs requests in threads and brings their events into the event loop, so that one process serves many clients.

The store, the lock and the model are used in the request's thread only; the loop never waits for them.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from errors import GieokError, SessionBusy, ensure_gieok_error
from graph.turn.event import Ended, Event, Thought, Token
from server.refusal import Refusal, build_unbegun_refusal, shutting_down

_T = TypeVar("_T")
log = logging.getLogger("gieok.endpoint")

BUSY_SECONDS = 10.0
"""How long a request waits for a session that still answers."""
BUSY_PAUSE = 0.1
LEAVE_SECONDS = 20.0
"""How long the requests of a server that ends may go on before they are stopped."""
STOPPED_SECONDS = 5.0
"""How long stopped requests may take to write what was said."""
LOOK_SECONDS = 0.5
"""Seconds between two looks whether a client that waits is still there."""
LOOKS = 16
"""Threads for short looks into the store, which wait for no running turn."""


@dataclass(frozen=True, slots=True)
class BegunRequest:
    """The conversation and the turn that a request has led to. ``response``: the id under which the responses API goes
    on from there. ``deliver``: notes that the client has its answer, right before the end of it goes out. All are empty
    for an answer without a conversation."""

    session: str = ""
    turn: int = 0
    fit: str = ""
    response: str = ""
    deliver: Callable[[], None] | None = field(default=None, compare=False)


Item = BegunRequest | Event | GieokError | Refusal
Emit = Callable[[Item], None]
Work = Callable[[threading.Event, Emit], Ended]
"""Runs a request: takes the event that stops it and the receiver of its items, ``BegunRequest`` first; returns the end.
Raises ``SessionBusy`` before its first item while another turn of the session runs."""


class Items:
    """The items of a request on their way from its thread to the event loop, in order.

    Pieces of the answer, or of the thoughts before it, that wait for the loop become one piece, and the loop is woken
    once for all that waits: so a busy server sends fewer and longer pieces. A piece that finds the loop idle goes on at
    once.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop, self._arrived = loop, asyncio.Event()
        self._lock, self._waiting, self._told = threading.Lock(), deque[Item](), False
        self._closed = False

    def put(self, item: Item) -> None:
        """Adds an item; for any thread. Does nothing after the loop has ended."""
        with self._lock:
            last = self._waiting[-1] if self._waiting else None
            if isinstance(item, Token) and isinstance(last, Token):
                self._waiting[-1] = Token(last.text + item.text)
            elif isinstance(item, Thought) and isinstance(last, Thought) and not item.moved:
                self._waiting[-1] = replace(last, text=last.text + item.text, seconds=item.seconds)
            else:
                self._waiting.append(item)
            told, self._told = self._told, True
        if not told:
            self._wake()

    def close(self) -> None:
        """Says that nothing more comes, so that no reader waits for ever; for any thread."""
        with self._lock:
            self._closed = self._told = True
        self._wake()

    def _wake(self) -> None:
        with suppress(RuntimeError):  # the loop has ended; the turn writes its row all the same
            self._loop.call_soon_threadsafe(self._arrived.set)

    async def get(self) -> Item:
        """Waits for the next item and takes it; for the loop. Raises ``Refusal`` where none comes any more."""
        while True:
            with self._lock:
                if self._waiting:
                    return self._waiting.popleft()
                if self._closed:
                    raise Refusal(500, "The request ended without an answer.", code="no_answer", kind="api_error")
                self._told = False
            await self._arrived.wait()
            self._arrived.clear()


@dataclass(eq=False)
class RunningRequest:
    """A request while it runs. ``items``: what ``work`` gives; an error instead of the rest when it cannot run.
    ``patience``: seconds to wait for a session that still answers. ``free``: called once, when the work has ended in
    any way, whether or not its client is still there."""

    work: Work
    loop: asyncio.AbstractEventLoop
    patience: float
    free: Callable[[], object]
    stop: threading.Event = field(default_factory=threading.Event)
    began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.items = Items(self.loop)

    def run(self) -> bool:
        """Runs the work; returns False when its session is busy and another try makes sense. For a thread; raises
        nothing."""
        put = self.items.put
        if self.stop.is_set():
            put(build_unbegun_refusal())
            return True
        try:
            put(self.work(self.stop, put))
        except SessionBusy as error:
            if not self.stop.is_set() and time.monotonic() < self.began + self.patience:
                return False
            put(error)
        except (GieokError, Refusal) as error:
            put(error)
        except Exception as error:
            put(ensure_gieok_error(error, log, "a request"))
        return True

    def end(self, refusal: Refusal | None = None) -> None:
        """Ends the request; ``refusal``: where its work never ran."""
        if refusal is not None:
            self.items.put(refusal)
        self.items.close()
        self.free()


class Requests:
    """The running requests of one process, each in a thread; at most ``most`` at a time, the others wait.

    ``count``: called with the number of those that run or wait, whenever it changes.
    """

    def __init__(self, most: int, count: Callable[[int], object] = lambda _: None) -> None:
        self._threads = ThreadPoolExecutor(most, thread_name_prefix="request")
        self._looks = ThreadPoolExecutor(LOOKS, thread_name_prefix="look")
        self._running: set[RunningRequest] = set()
        self._change = threading.Condition()
        self._count = count
        self.closing = False

    def start(
        self, work: Work, patience: float | None = None, free: Callable[[], object] = lambda: None
    ) -> RunningRequest:
        """Starts a request in a thread. Call it from the event loop that reads the items. ``patience``: seconds to wait
        for a session that still answers; None: ``BUSY_SECONDS``. ``free``: as in ``RunningRequest``."""
        patience = BUSY_SECONDS if patience is None else patience
        request = RunningRequest(work, asyncio.get_running_loop(), patience, free)
        with self._change:
            self._running.add(request)
            self._count(len(self._running))
        self._submit(request)
        return request

    async def look(self, work: Callable[[], _T]) -> _T:
        """Returns the result of short work, which runs in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._looks, work)

    async def call(self, work: Callable[[], _T]) -> _T:
        """Returns the result of work that may take long, which runs in a thread beside the requests."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def call_while(self, work: Callable[[threading.Event], _T], has_left: Callable[[], Awaitable[bool]]) -> _T:
        """Returns the result of work that may take long, and stops it by its event when the client has left."""
        stop = threading.Event()
        task = asyncio.ensure_future(self.call(partial(work, stop)))
        while not (await asyncio.wait({task}, timeout=LOOK_SECONDS))[0]:
            if await has_left():
                stop.set()
        return await task

    def leave(self, seconds: float = LEAVE_SECONDS) -> None:
        """Begins to end: nothing new is taken, and after some seconds the running requests are stopped. Returns at
        once."""
        if not self.closing:
            self.closing = True
            timer = threading.Timer(seconds, self._stop)
            timer.daemon = True
            timer.start()

    def close(self, seconds: float = LEAVE_SECONDS) -> None:
        """Ends: waits until the running requests have ended, some seconds at most, then stops them; what they have said
        by then is kept."""
        self.closing = True
        with self._change:
            self._change.wait_for(lambda: not self._running, seconds)
        self._stop()
        with self._change:
            self._change.wait_for(lambda: not self._running, STOPPED_SECONDS)
        for threads in (self._threads, self._looks):
            threads.shutdown(wait=False, cancel_futures=True)
        with self._change:
            left = list(self._running)
        for request in left:  # those that waited for a thread will never get one
            self._end(request, shutting_down())

    def _stop(self) -> None:
        with self._change:
            for request in self._running:
                request.stop.set()

    def _submit(self, request: RunningRequest) -> None:
        try:
            self._threads.submit(self._run, request)
        except RuntimeError:  # the threads have ended
            self._end(request, shutting_down())

    def _run(self, request: RunningRequest) -> None:
        ended = True
        try:
            ended = request.run() or not self._later(request)
        finally:
            if ended:
                self._end(request)

    def _end(self, request: RunningRequest, refusal: Refusal | None = None) -> None:
        """Ends a request once, whichever thread comes first."""
        with self._change:
            if request not in self._running:
                return
            self._running.discard(request)
            self._count(len(self._running))
            self._change.notify_all()
        request.end(refusal)

    def _later(self, request: RunningRequest) -> bool:
        """Runs a request once more after a pause, in which it holds no thread. Returns False when the loop has
        ended."""
        again = partial(self._submit, request)
        try:
            request.loop.call_soon_threadsafe(lambda: request.loop.call_later(BUSY_PAUSE, again))
        except RuntimeError:
            return False
        return True


__all__ = ["LEAVE_SECONDS", "BegunRequest", "Emit", "Item", "Items", "Requests", "RunningRequest", "Work"]
