from __future__ import annotations

from datetime import date

import pytest

from tests.table import table
from text.calendar import days

MONDAY = date(2026, 11, 23)


@table(
    ("text", "named"),
    [
        ("12월 5일이 무슨 요일이야?", [date(2026, 12, 5)]),
        ("What weekday is March 3?", [date(2027, 3, 3)]),
        ("2027-01-04은?", [date(2027, 1, 4)]),
        ("내일이랑 모레는?", [date(2026, 11, 24), date(2026, 11, 25)]),
        ("the day after tomorrow", [date(2026, 11, 25)]),
        ("10일 뒤는 며칠이야?", [date(2026, 12, 3)]),
        ("2 weeks ago", [date(2026, 11, 9)]),
        ("in 3 days", [date(2026, 11, 26)]),
        ("다음 주 금요일", [date(2026, 12, 4)]),
        ("this sunday", [date(2026, 11, 29)]),
    ],
)
def test_days_are_read_as_dates(text: str, named: list[date]) -> None:
    assert days(text, MONDAY) == named


@pytest.mark.parametrize("text", ["지금 몇 시야?", "for 3 days", "2월 30일", "금요일"])
def test_what_names_no_day_gives_none(text: str) -> None:
    assert days(text, MONDAY) == []


def test_a_day_of_a_month_is_no_number_of_days() -> None:
    assert days("3월 5일 뒤에 봐", MONDAY) == [date(2027, 3, 5)]


def test_a_day_that_is_named_twice_counts_once() -> None:
    assert days("내일, 그러니까 11월 24일", MONDAY) == [date(2026, 11, 24)]
