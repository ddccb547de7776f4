"""How often a growing answer is sent to the browser: every frame sends the whole unfinished piece again."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

FRAME_SECONDS = 0.15
FRAME_BYTES = 130  # overhead of a frame, its text not counted
SHORT, GROWTH = 300, 16
"""A piece of more than 300 characters (code, a table) is sent again when it has grown by a 16th, or after
``REST_SECONDS``."""
REST_SECONDS = 1.5
ALLOWANCE = 12_000
LONG = 8_000
PER_BYTE, PER_LONG_BYTE = 14, 6  # bytes that may be sent per byte of an answer, up to LONG and beyond


def count_allowed_bytes(answer_bytes: int) -> int:
    """Returns how many bytes an answer of ``answer_bytes`` may cost in total."""
    return ALLOWANCE + PER_BYTE * min(answer_bytes, LONG) + PER_LONG_BYTE * max(0, answer_bytes - LONG)


@dataclass
class Pace:
    """The limit for one answer: at most 7 frames a second, and bytes in proportion to its length.

    An answer of 2,000 tokens stays below 250 kB.
    """

    clock: Callable[[], float] = time.monotonic
    sent: int = 0
    _last: float = field(default=float("-inf"))

    def count(self, said: str) -> None:
        """Counts a piece that was just sent; a finished piece delays the next frame, too."""
        self.sent += FRAME_BYTES + len(said.encode("utf-8", "replace"))
        self._last = self.clock()

    def allows(self, tail: str, drawn: int, answer_bytes: int) -> bool:
        """Returns whether the unfinished piece ``tail``, of which ``drawn`` characters are shown, may be sent now.

        ``answer_bytes``: the size of the answer so far.
        """
        now = self.clock()
        grown = drawn < SHORT or len(tail) - drawn >= drawn // GROWTH
        if now - self._last < (FRAME_SECONDS if grown else REST_SECONDS):
            return False
        return self.sent + FRAME_BYTES + len(tail.encode("utf-8", "replace")) <= count_allowed_bytes(answer_bytes)
