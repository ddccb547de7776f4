"""A growing answer stays smooth, and its bytes stay in proportion."""

from __future__ import annotations

import pytest

from component.answer.block import next_cut
from component.answer.pace import FRAME_SECONDS, REST_SECONDS, Pace
from tests.table import table


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def sent(paragraph: int, seconds_per_token: float, token: str = "기억은 ", tokens: int = 2000) -> tuple[int, float]:
    """Bytes of an answer, and the longest time that the page stood still."""
    clock = Clock()
    pace, text, start, joined, drawn = Pace(clock), "", 0, False, 0
    last = longest = 0.0
    for number in range(tokens):
        text += f"\n\n{token}" if number % paragraph == paragraph - 1 else token
        clock.now += seconds_per_token
        while cut := next_cut(text, start, joined):
            if cut.end - start != drawn:
                pace.count(text[start : cut.end])
                longest, last = max(longest, clock.now - last), clock.now
            start, joined, drawn = cut.end, cut.joined, 0
        if pace.allows(text[start:], drawn, len(text.encode())):
            pace.count(text[start:])
            drawn, longest, last = len(text) - start, max(longest, clock.now - last), clock.now
    return pace.sent, longest


def test_frames_keep_their_distance() -> None:
    clock = Clock()
    pace = Pace(clock)
    assert pace.allows("a", 0, 1)
    pace.count("a")
    assert not pace.allows("ab", 1, 2)
    clock.now += FRAME_SECONDS
    assert pace.allows("ab", 1, 2)


def test_a_long_piece_waits_until_it_has_grown_or_some_time_has_passed() -> None:
    clock = Clock()
    pace = Pace(clock)
    assert pace.allows("a" * 1600, 0, 1600)
    pace.count("a" * 1600)
    clock.now += FRAME_SECONDS
    assert not pace.allows("a" * 1699, 1600, 1699)
    assert pace.allows("a" * 1700, 1600, 1700)
    pace.count("a" * 1700)
    clock.now += REST_SECONDS
    assert pace.allows("a" * 1701, 1700, 1701)


@table("seconds_per_token", [0.01, 0.05, 0.2])
@table("paragraph", [40, 400, 100_000], ids=["paragraphs", "long paragraphs", "one paragraph"])
def test_an_answer_of_2000_tokens_stays_below_200_kilobytes_and_keeps_moving(
    seconds_per_token: float, paragraph: int
) -> None:
    """The page around it takes about 80 kB more, most of it the finished answer."""
    size, stood_still = sent(paragraph, seconds_per_token)
    assert size < 200_000
    assert stood_still < 2


def test_an_answer_twice_as_long_costs_twice_as_much() -> None:
    short, _ = sent(100_000, 0.05, "기억 ")
    long, _ = sent(100_000, 0.05, "기억 기억 ")
    assert long < 2.2 * short


def test_a_short_answer_is_not_held_back() -> None:
    _, stood_still = sent(100_000, 0.2, "word ", tokens=60)
    assert stood_still == pytest.approx(0.2)
