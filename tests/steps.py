"""How much work something is: counted, not timed, so that it is the same on every machine and however busy it is."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def count_lines(work: Callable[[], object]) -> int:
    """How many lines of Python are run, whoever wrote them; every round of a loop counts, also of one in a single
    line."""
    count, before = 0, sys.gettrace()

    def trace(frame: FrameType, event: str, given: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count
