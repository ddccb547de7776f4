"""Runs a turn in a thread of its own, while a reader in another thread takes its events.

So a reader that goes away, or is collected as garbage in some other thread, never has to end the graph: it asks for a
stop, and the turn then ends, writes its row and frees its session by itself.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from contextvars import copy_context

from graph.turn.event import Event

PARTING_SECONDS = 10.0
"""How long a reader that leaves waits until the stopped turn has written its row."""


Turn = Callable[[threading.Event, Callable[[Event], None]], Event]
"""A function that runs a turn. It takes the event that stops the turn and the receiver of its events, and returns the
last event."""


def play_turn_events(turn: Turn, stop: threading.Event | None = None) -> Iterator[Event]:
    """Yields the events of ``turn``. Raises what the turn raises.

    The turn starts when the first event is asked for. Closing the iterator stops the turn; the answer so far is kept.
    """
    halt = stop or threading.Event()
    events: queue.SimpleQueue[Event | BaseException | None] = queue.SimpleQueue()
    work = (copy_context().run, _run_turn_thread, turn, halt, events)
    thread = threading.Thread(target=work[0], args=work[1:], name="turn", daemon=True)
    thread.start()
    try:
        while (item := events.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    except GeneratorExit:
        halt.set()
        thread.join(PARTING_SECONDS)
        raise


def _run_turn_thread(
    turn: Turn,
    halt: threading.Event,
    heard: queue.SimpleQueue[Event | BaseException | None],
) -> None:
    try:
        heard.put(turn(halt, heard.put))
    except BaseException as error:  # the reader raises it
        heard.put(error)
    heard.put(None)
