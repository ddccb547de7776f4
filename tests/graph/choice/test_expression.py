from __future__ import annotations

from decimal import Decimal

import pytest

from graph.choice.expression import expression
from graph.tool import arithmetic
from tests.table import table


def _value(question: str, previous: str | None = None) -> Decimal | None:
    found = expression(question, previous)
    return None if found is None else arithmetic.evaluate(arithmetic.understand(found))[0]


@table(
    ("question", "value"),
    [
        ("120만원에 35만원 더하면?", 1_550_000),
        ("1억 2천만 원의 4%는 얼마야?", 4_800_000),
        ("3000에서 450을 빼고 2로 나누면?", 1275),
        ("8만 9천원에서 20% 할인하면 얼마예요", 71_200),
        ("택시비 2만 4천 원을 셋이서 나누면?", 8000),
        ("커피 4,500원짜리 3잔이랑 케이크 6,800원이면 총 얼마야?", 20_300),
        ("이만 오천 원에서 만 이천 원을 빼면?", 13_000),
        ("35, 42, 58 평균", 45),
        ("What's 15% of 2400?", 360),
        ("split 126 by 4", "31.5"),
        ("3 nights at 85 each plus 40", 295),
        ("what's 1.2 million minus 350k", 850_000),
        ("two hundred divided by eight", 25),
        ("If 4 apples cost 3,600, how much is one?", 900),
        ("The bus is late again. Anyway, what is 12*(3+4)?", 84),
    ],
)
def test_what_the_words_state_exactly_is_read(question: str, value: int | str) -> None:
    assert _value(question) == Decimal(value)


@table(
    "question",
    [
        "2024년 매출 3억에 20% 오르면?",  # a number is left over
        "3명 5만원이면 총 얼마야",  # what is not of one kind is not added up
        "12만원 8만원",  # nothing says what to do
        "15%는?",  # a share of nothing
        "17 나누기 5의 나머지는?",
        "what's 100 plus 50 each?",
        "a dozen eggs at 3.60, price per egg?",
        "26.2 miles at 8 miles an hour, how long does it take?",
        "If 1 euro is 1.08 dollars, how much is 250 dollars in euros?",
        "is 15% of 2400 360?",
        "12 / 0",
    ],
)
def test_what_cannot_be_read_exactly_is_left_to_the_model(question: str) -> None:
    assert expression(question) is None


@pytest.mark.parametrize(
    ("previous", "question", "value"),
    [
        ("12 곱하기 4는?", "거기서 8을 빼면?", 40),
        ("What's 15% of 2400?", "and 20% of that?", 72),
        ("5만원의 20%는?", "그럼 30%는?", 15_000),
        ("12만원을 4명이 나누면?", "그럼 5명이면?", 24_000),
        ("What is 12 times 4?", "And minus 8?", 40),
    ],
)
def test_a_follow_up_goes_on_from_the_sum_before_it(previous: str, question: str, value: int) -> None:
    assert _value(question, previous) == value


def test_what_only_asks_about_the_sum_before_it_is_no_sum() -> None:
    assert expression("is that a lot?", "100 divided by 4") is None
