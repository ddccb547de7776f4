"""Side work after the answer: what belongs to a session goes in order, several sessions at once (design 5.4).

The user's turn goes first.

A piece of work is level-triggered and may be stopped at any moment; stopped work runs again after the answer.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from errors import format_error_trace
from model.call.stream import Stopped

log = logging.getLogger(__name__)

Work = Callable[[threading.Event], None]
"""A function that does the work; it watches the event and raises ``Stopped`` (or returns) soon after the event is
set."""
MOST_AT_ONCE = 8
"""Pieces of work that run at the same time in a process. A model call that hangs holds up its own session until it
times out; only when so many hang does another session wait."""
CLOSE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class SideWork:
    """What somebody may be told of a piece of work: its ``name``, the id of its session ('' for none), and since when
    it runs or waits (Unix seconds). ``user``: whose sessions it serves, where it serves all of them; '' otherwise."""

    name: str
    session: str
    is_running: bool
    since: float
    user: str = ""

    def is_for(self, session: str, user: str) -> bool:
        """Returns whether the work serves this session of this user; '' is a session that has not begun."""
        return (bool(session) and self.session == session) or (bool(user) and self.user == user)


@dataclass(frozen=True, slots=True)
class _Piece:
    """A piece of work, its lane, the session that it belongs to, the user whose sessions it serves, the event that
    stops it, and since when it runs or waits."""

    lane: Hashable
    work: Work
    session: str = ""
    user: str = ""
    stop: threading.Event = field(default_factory=threading.Event)
    since: float = field(default_factory=time.time)


class Background:
    """Worker threads and the list of waiting work.

    Work of one lane runs one piece after another, in the order of the list; lanes run beside each other.
    ``yields``: whether work pauses while a turn runs, because one model serves everything. A turn with models of its
    own passes its own answer to ``turn``.
    """

    def __init__(self, yields: Callable[[], bool]) -> None:
        self.yields = yields
        self._change = threading.Condition()
        self._waiting: dict[Hashable, _Piece] = {}
        self._running: dict[Hashable, _Piece] = {}
        self._cancelled: set[Hashable] = set()
        self._turns: list[Callable[[], bool]] = []
        self._closed = False
        self._threads: list[threading.Thread] = []

    def submit(self, key: Hashable, work: Work, lane: Hashable = "", session: str = "", user: str = "") -> None:
        """Puts work at the end of the list, in place of waiting work with the same key.

        A key is the work's name, or a tuple that begins with the name and the id of its session; ``session``: the id,
        where the key does not have it. ``user``: whose sessions the work serves, where it serves all of them.
        """
        with self._change:
            if self._closed:
                return
            self._waiting.pop(key, None)
            self._waiting[key] = _Piece(lane, work, session, user)
            lanes = {piece.lane for piece in (*self._waiting.values(), *self._running.values())}
            if len(self._threads) < min(len(lanes), MOST_AT_ONCE):
                thread = threading.Thread(target=self._loop, name="background", daemon=True)
                self._threads.append(thread)
                thread.start()
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
            unwanted = [piece for key, piece in self._running.items() if not needed(key)]
            if unwanted and pauses():
                for piece in unwanted:
                    piece.stop.set()
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
            if key not in self._running:
                return False
            while key in self._running and not stop.is_set():
                self._change.wait(0.05)
            return key not in self._running

    def interrupt(self, key: Hashable) -> None:
        """Stops running work with this key. It begins anew later, and then sees what is left to do."""
        with self._change:
            if (piece := self._running.get(key)) is not None:
                piece.stop.set()

    def cancel(self, key: Hashable) -> None:
        """Takes work with this key off the list, and stops it if it runs; it does not begin anew."""
        with self._change:
            self._waiting.pop(key, None)
            if (piece := self._running.get(key)) is not None:
                self._cancelled.add(key)
                piece.stop.set()

    def list_work(self) -> list[SideWork]:
        """Returns all work, first what runs, then what waits, in the order of the list."""
        with self._change:
            entries = [(True, self._running.items()), (False, self._waiting.items())]
            return [_describe_piece(key, piece, is_running) for is_running, pieces in entries for key, piece in pieces]

    def has(self, wanted: Callable[[Hashable], bool]) -> bool:
        """Returns whether work with a wanted key runs or waits."""
        with self._change:
            return any(wanted(key) for key in (*self._waiting, *self._running))

    def idle(self, seconds: float) -> bool:
        """Waits until no work runs or waits, at most ``seconds``; returns whether that is so then."""
        with self._change:
            return self._change.wait_for(lambda: not self._waiting and not self._running, seconds)

    def close(self) -> None:
        """Stops all work at once; the next turn finds again what is left to do."""
        with self._change:
            self._closed = True
            self._waiting.clear()
            for piece in self._running.values():
                piece.stop.set()
            self._change.notify_all()
        until = time.monotonic() + CLOSE_SECONDS
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))

    def _loop(self) -> None:
        while (taken := self._take()) is not None:
            key, piece = taken
            try:
                piece.work(piece.stop)
                again = False
            except Stopped:
                again = True
            except Exception as error:
                log.error("side work failed: %s", format_error_trace(error))
                again = False
            self._settle(key, again)

    def _take(self) -> tuple[Hashable, _Piece] | None:
        """Waits for work and moves it from the list to what runs; returns None when the list is closed."""
        with self._change:
            while not self._closed:
                if (key := self._next()) is not None:
                    self._running[key] = piece = replace(self._waiting.pop(key), since=time.time())
                    return key, piece
                self._change.wait()
            return None

    def _next(self) -> Hashable | None:
        """Returns the key of the first waiting work that may run now."""
        if not self._waiting or any(pauses() for pauses in self._turns):
            return None
        taken = {piece.lane for piece in self._running.values()}
        free = (key for key, piece in self._waiting.items() if piece.lane not in taken and key not in self._running)
        return next(free, None)

    def _settle(self, key: Hashable, again: bool) -> None:
        with self._change:
            piece = self._running.pop(key)
            again = again and key not in self._cancelled
            self._cancelled.discard(key)
            if again and not self._closed and key not in self._waiting:
                # first in its lane, as it was
                self._waiting = {key: _Piece(piece.lane, piece.work, piece.session, piece.user), **self._waiting}
            self._change.notify_all()


def _describe_piece(key: Hashable, piece: _Piece, is_running: bool) -> SideWork:
    name, session = (key[0], key[1]) if isinstance(key, tuple) and len(key) > 1 else (key, piece.session)
    return SideWork(str(name), str(session), is_running, piece.since, piece.user)
