"""The grammar of sums and dates: what an expression comes to."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from graph.tool.calculation.arithmetic import CannotCalculate
from graph.tool.calculation.expression import is_dated, reckon_expression
from tests.table import table

NOW = datetime(2026, 11, 27, 14, 30, tzinfo=ZoneInfo("Asia/Seoul"))  # a Friday


@table(
    ("expression", "text"),
    [
        ("2*(3+4)", "2*(3+4) = 14"),
        ("2026-11-26", "2026-11-26 Thursday, 1 days ago"),
        ("today", "2026-11-27 Friday, today"),
        ("today + 10 working days", "2026-12-11 Friday, in 14 days"),
        ("2027-03-03 + 10 days", "2027-03-13 Saturday, in 106 days"),
        ("2028-02-29 + 1 year", "2029-02-28 Wednesday, in 824 days"),
        ("weekday(nth(2, tuesday, 2027-03))", "2027-03-09 Tuesday, in 102 days"),
        ("nth(last, friday, 2026-12)", "2026-12-25 Friday, in 28 days"),
        ("next(friday)", "2026-12-04 Friday, in 7 days"),
        ("last(friday)", "2026-11-20 Friday, 7 days ago"),
        ("days(today, 2026-12-25)", "days from 2026-11-27 (Friday) to 2026-12-25 (Friday) = 28"),
        ("days(2026-12-25, today)", "days from 2026-11-27 (Friday) to 2026-12-25 (Friday) = 28"),
        ("weeks(today, 2026-12-25 + 1 day)", "weeks from 2026-11-27 (Friday) to 2026-12-26 (Saturday) = 4 and 1 days"),
        ("months(2026-01-31, 2026-03-30)", "months from 2026-01-31 (Saturday) to 2026-03-30 (Monday) = 1 and 30 days"),
        ("workdays(today, 2026-12-31)", "workdays from 2026-11-27 (Friday) to 2026-12-31 (Thursday) = 25"),
        ("time(Tokyo) + 3 hours", "2026-11-27 Friday 17:30, Asia/Tokyo"),
        ("time(15:00, New York, Seoul)", "2026-11-28 Saturday 05:00, Asia/Seoul"),
        ("time(09:00, here, London)", "2026-11-27 Friday 00:00, Europe/London"),
        ("time(08:00) - 90 minutes", "2026-11-27 Friday 06:30, local time"),
        ("today - 1 month", "2026-10-27 Tuesday, 31 days ago"),
    ],
)
def test_an_expression_is_reckoned(expression: str, text: str) -> None:
    assert reckon_expression(expression, NOW).text == text


@pytest.mark.parametrize(
    "expression",
    [
        "2026-02-30",
        "nth(5, monday, 2027-02)",
        "9999-12-31 + 9 days",
        "today + 99999 years",
        "days(today)",
        "time(Atlantis)",
        "time(25:99)",
        "weekday(never)",
        "",
        "days(today, " * 90,
    ],
)
def test_what_cannot_be_reckoned_is_an_error(expression: str) -> None:
    with pytest.raises(CannotCalculate):
        reckon_expression(expression, NOW)


def test_a_sum_is_not_dated_and_a_day_is() -> None:
    assert not is_dated("2026-11")
    assert is_dated("2026-11-26")
    assert is_dated("time(Tokyo)")
