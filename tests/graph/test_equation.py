"""Sums in an answer that code puts right while it streams."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from graph.answer.equation import Equations
from tests.table import table


def through(text: str, size: int = 4) -> tuple[str, list[tuple[str, str]]]:
    """What is shown of an answer that comes in pieces of ``size`` characters, and the sums that were put right."""
    told: list[tuple[str, str]] = []
    sums = Equations(lambda *sum_: told.append(sum_))
    shown = "".join(sums.feed(text[at : at + size]) for at in range(0, len(text), size))
    return shown + sums.end(), told


@table(
    ("written", "shown"),
    [
        ("It costs $42 per head × 86 people = $3,592 in all.", "It costs $42 per head × 86 people = $3,612 in all."),
        ("45,000원 + 18,000원 + 62,000원 = 135,000원입니다.", "45,000원 + 18,000원 + 62,000원 = 125,000원입니다."),
        ("20만원 - 15만 1천원 = 39,000원", "20만원 - 15만 1천원 = 49,000원"),
        ("84,000원 x 7 = 58,000원", "84,000원 x 7 = 588,000원"),
        ("4 × 6.5 = 28 square metres", "4 × 6.5 = 26 square metres"),
        ("7.80 x 5 = $38", "7.80 x 5 = $39"),
        ("-38 + 27 = 11", "-38 + 27 = -11"),
        ("80,000 × 15% = 1,200", "80,000 × 15% = 12,000"),
        ("6,500 × 4 = 26,000 + 125,000 = 150,000", "6,500 × 4 = 26,000 + 125,000 = 151,000"),
    ],
)
def test_a_wrong_result_is_put_right(written: str, shown: str) -> None:
    assert through(written)[0] == shown
    assert len(through(written)[1]) == 1


def test_the_wrong_number_is_put_right_wherever_it_comes_again_and_the_sum_is_told_once() -> None:
    shown, told = through("42 × 86 = 3,592\n\nSo it is $3,592. Not 13,592 and not 3,592.5, but 3,592.")
    assert shown == "42 × 86 = 3,612\n\nSo it is $3,612. Not 13,592 and not 3,592.5, but 3,612."
    assert told == [("42*86", "3,612")]


@table(
    "text",
    [
        "42 × 86 = 3,612",
        "10 / 3 = 3.33",
        "10 / 3 ≈ 3",
        "2 / 3 = 0.67",
        "3시간 30분 + 45분 = 4시간 15분",
        "12월 2일 + 14일 = 12월 16일",
        "x = 42",
        "p = 0.03 < 0.05",
        "a/b = 3/4",
        "1/2 = 0.5",
        "3 + 4 = 2 + 5 = 7",
        "1 / 0 = 0",
        "```\nprint(3 + 4 = 8)\n```",
        "2026-11-23 = today",
        "9:30 + 1:15 = 10:45",
    ],
)
def test_what_is_right_or_no_plain_sum_stays_as_it_is(text: str) -> None:
    assert through(text) == (text, [])


@given(some.text(alphabet="0123456789 =+-×*/.,x원$ab\n만%()", max_size=80), some.integers(1, 9))
def test_nothing_but_numbers_behind_a_sign_of_equality_is_changed(text: str, size: int) -> None:
    shown, told = through(text, size)
    assert told or shown == text


def test_a_long_answer_costs_no_square_of_its_length() -> None:
    text = "1 + " * 20_000
    assert through(text, 4)[0] == text
