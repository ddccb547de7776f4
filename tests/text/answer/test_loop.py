"""A text that goes round in circles."""

from __future__ import annotations

from functools import partial

from tests.steps import count_lines
from tests.table import table
from text.answer import loop

SAID = "강릉에 가 볼 만한 곳입니다: "
UNIT = "산의 높은 곳은 강릉 산 산의 높은 곳입니다. "


def test_the_first_of_the_repetitions_stays() -> None:
    text = SAID + UNIT * 3
    start = loop.find_loop_start(text)
    assert start is not None
    assert text[:start].rstrip() == (SAID + UNIT).rstrip()


@table("more", range(0, len(UNIT), 5))
def test_it_is_found_wherever_the_text_stops(more: int) -> None:
    text = SAID + UNIT * 3 + UNIT[:more]
    start = loop.find_loop_start(text)
    assert start is not None
    assert text[:start].count("곳입니다") <= 2


@table(
    "text",
    [
        SAID + UNIT * 2,
        "[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]",
        "-" * 300,
        "la la la la la la la la la la la la la la la la la ",
        "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n| 5 | 6 |\n",
        "",
    ],
)
def test_what_is_meant_as_it_is_is_no_circle(text: str) -> None:
    assert loop.find_loop_start(text) is None


def test_a_long_text_takes_no_more_steps_than_a_short_one() -> None:
    text = "".join(f"Line {number} says something of its own.\n" for number in range(5000))
    assert loop.find_loop_start(text) is None
    short, long = (count_lines(partial(loop.find_loop_start, each)) for each in (text[-1000:], text))
    assert long <= short
