"""A clock of the test's own, for a module of the product that measures time: what it measures is exact then."""

from __future__ import annotations

import time
from dataclasses import dataclass

import pytest


@dataclass
class Clock:
    """Stands for the module ``time``: stands still until a test sets ``now``, or goes on by ``step`` at every look.
    What day it is stays as it is."""

    now: float = 0.0
    step: float = 0.0

    def monotonic(self) -> float:
        self.now += self.step
        return self.now

    perf_counter = monotonic

    def time(self) -> float:
        return time.time()


def set_clock(monkeypatch: pytest.MonkeyPatch, module: str, now: float = 0.0, step: float = 0.0) -> Clock:
    """Gives a module of the product this clock for the one of the machine."""
    clock = Clock(now, step)
    monkeypatch.setattr(f"{module}.time", clock)
    return clock
