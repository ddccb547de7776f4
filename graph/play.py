"""A turn runs in a thread of its own, and whoever wants its events reads along.

So a reader that goes away, or is collected as garbage in some other thread, never has to bring a graph to its end
where it stands: it asks for a stop, and the turn ends, is written down and lets go of its session by itself.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from contextvars import copy_context

from graph.event import Event

PARTING_SECONDS = 10.0
"""How long a reader that leaves waits for the stopped turn to be written down."""


Turn = Callable[[threading.Event, Callable[[Event], None]], Event]
"""Runs a turn: given the event that stops it and what takes its events, it returns the last one."""


def play(turn: Turn, stop: threading.Event | None = None) -> Iterator[Event]:
    """The events of ``turn``. Raises what the turn raises.

    Nothing starts before the first event is asked for. Closing the iterator stops the turn and keeps what was said.
    """
    halt = stop or threading.Event()
    heard: queue.SimpleQueue[Event | BaseException | None] = queue.SimpleQueue()
    work = (copy_context().run, _play, turn, halt, heard)
    thread = threading.Thread(target=work[0], args=work[1:], name="turn", daemon=True)
    thread.start()
    try:
        while (item := heard.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    except GeneratorExit:
        halt.set()
        thread.join(PARTING_SECONDS)
        raise


def _play(
    turn: Turn,
    halt: threading.Event,
    heard: queue.SimpleQueue[Event | BaseException | None],
) -> None:
    try:
        heard.put(turn(halt, heard.put))
    except BaseException as error:  # handed over to the reader
        heard.put(error)
    heard.put(None)
