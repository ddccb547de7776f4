"""How often a growing answer is sent to the browser: every frame carries the whole unfinished paragraph again."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

FRAME_SECONDS = 0.08
FRAME_BYTES = 350  # what a frame costs beside its text
ALLOWANCE = 40_000
LONG = 8_000
PER_BYTE, PER_LONG_BYTE = 20, 6  # bytes that may be sent for each byte of an answer, up to LONG and beyond


def allowance(answer_bytes: int) -> int:
    """The bytes that an answer of that length may cost in all."""
    return ALLOWANCE + PER_BYTE * min(answer_bytes, LONG) + PER_LONG_BYTE * max(0, answer_bytes - LONG)


@dataclass
class Pace:
    """At most 12 frames a second, and bytes in proportion to the answer (2,000 tokens stay below 300 kB)."""

    clock: Callable[[], float] = time.monotonic
    sent: int = 0
    _last: float = field(default=float("-inf"))

    def allows(self, tail: str, answer_bytes: int) -> bool:
        """Whether the unfinished paragraph ``tail`` of an answer so long may be sent now; counts it if so."""
        cost = FRAME_BYTES + len(tail.encode("utf-8", "replace"))
        late = self.clock() - self._last >= FRAME_SECONDS
        if not late or self.sent + cost > allowance(answer_bytes):
            return False
        self._last = self.clock()
        self.sent += cost
        return True
