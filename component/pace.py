"""How often a growing answer is sent to the browser: every frame carries its whole unfinished piece again."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

FRAME_SECONDS = 0.15
FRAME_BYTES = 130  # what a frame costs beside its text
SHORT, GROWTH = 300, 16
"""A piece of more characters (code, a table) is sent again when it has grown by a 16th, or after ``REST_SECONDS``."""
REST_SECONDS = 1.5
ALLOWANCE = 12_000
LONG = 8_000
PER_BYTE, PER_LONG_BYTE = 14, 6  # bytes that may be sent for each byte of an answer, up to LONG and beyond


def allowance(answer_bytes: int) -> int:
    """The bytes that an answer of that length may cost in all."""
    return ALLOWANCE + PER_BYTE * min(answer_bytes, LONG) + PER_LONG_BYTE * max(0, answer_bytes - LONG)


@dataclass
class Pace:
    """At most 7 frames a second, and bytes in proportion to the answer (2,000 tokens stay below 250 kB)."""

    clock: Callable[[], float] = time.monotonic
    sent: int = 0
    _last: float = field(default=float("-inf"))

    def count(self, said: str) -> None:
        """What has just been sent: a finished piece, too, keeps the next frame waiting."""
        self.sent += FRAME_BYTES + len(said.encode("utf-8", "replace"))
        self._last = self.clock()

    def allows(self, tail: str, drawn: int, answer_bytes: int) -> bool:
        """Whether the unfinished piece ``tail``, of which ``drawn`` characters are shown, may be sent now."""
        now = self.clock()
        grown = drawn < SHORT or len(tail) - drawn >= drawn // GROWTH
        if now - self._last < (FRAME_SECONDS if grown else REST_SECONDS):
            return False
        return self.sent + FRAME_BYTES + len(tail.encode("utf-8", "replace")) <= allowance(answer_bytes)
