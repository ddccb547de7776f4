"""Ctrl-C during work of a command: the first one stops the work, the second one the program."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def catch_interrupts(stop: threading.Event) -> Iterator[None]:
    """Sets ``stop`` at the first Ctrl-C during the block; the second one ends the program at once."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread receives signals
        yield
        return

    def interrupt(*_: object) -> None:
        signal.signal(signal.SIGINT, previous)
        stop.set()

    previous = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
