"""A growing answer stays smooth, and its bytes stay in proportion."""

from __future__ import annotations

import pytest

from component.markdown import boundary
from component.pace import FRAME_SECONDS, Pace


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_frames_keep_their_distance() -> None:
    clock = Clock()
    pace = Pace(clock)
    assert pace.allows("a", 1)
    assert not pace.allows("ab", 2)
    clock.now += FRAME_SECONDS
    assert pace.allows("ab", 2)


@pytest.mark.parametrize("seconds_per_token", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("paragraph", [40, 400, 100_000], ids=["paragraphs", "long paragraphs", "one paragraph"])
def test_an_answer_of_2000_tokens_stays_below_300_kilobytes(seconds_per_token: float, paragraph: int) -> None:
    clock = Clock()
    pace, text, cut = Pace(clock), "", 0
    for number in range(2000):
        text += "\n\n기억은 " if number % paragraph == paragraph - 1 else "기억은 "
        clock.now += seconds_per_token
        until = boundary(text, cut)
        pace.sent += len(text[cut:until].encode()) if until > cut else 0
        cut = max(cut, until)
        pace.allows(text[cut:], len(text.encode()))
    assert pace.sent < 300_000


def test_a_short_answer_is_not_held_back() -> None:
    clock = Clock()
    pace, text = Pace(clock), ""
    for _ in range(60):
        text += "word "
        clock.now += 0.1
        assert pace.allows(text, len(text))
