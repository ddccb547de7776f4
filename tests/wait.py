"""Waiting for what comes about. How long that takes is nobody's business: a busy machine takes its time. The clock here
only keeps a test that waits for what never comes from waiting for ever."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

SECONDS = 60.0
T = TypeVar("T")


def until(reached: Callable[[], T], seconds: float = SECONDS) -> T:
    """Waits until something is so, and returns it."""
    end = time.monotonic() + seconds
    while not (value := reached()):
        if time.monotonic() > end:
            raise AssertionError("it did not come about")
        time.sleep(0.01)
    return value
