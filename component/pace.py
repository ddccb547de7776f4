"""How often a growing answer is sent to the browser: every frame carries the whole unfinished paragraph again."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

FRAME_SECONDS = 0.08
FRAME_BYTES = 350  # what a frame costs beside its text
ALLOWANCE = 40_000
PER_ANSWER_BYTE = 20


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
        if not late or self.sent + cost > ALLOWANCE + PER_ANSWER_BYTE * answer_bytes:
            return False
        self._last = self.clock()
        self.sent += cost
        return True
