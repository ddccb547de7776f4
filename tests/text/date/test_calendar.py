from __future__ import annotations

from datetime import date

import pytest

from tests.table import table
from text.date.calendar import (
    WORKING_DAY,
    count_working_days,
    find_amounts,
    find_days,
    find_nth,
    find_single_days,
    find_written,
    is_past,
    shift_day,
)

MONDAY = date(2026, 11, 23)
FRIDAY = date(2026, 11, 27)


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
        ("금요일", [FRIDAY]),
    ],
)
def test_days_are_read_as_dates(text: str, named: list[date]) -> None:
    assert find_single_days(text, MONDAY) == named


@table(
    ("text", "day"),
    [
        ("last Monday", "2026-11-23"),
        ("in two weeks", "2026-12-11"),
        ("in two weeks' time", "2026-12-11"),
        ("two days ago", "2026-11-25"),
        ("a week from Friday", "2026-12-11"),
        ("10 days after 3 March", "2027-03-13"),
        ("two weeks before Christmas", "2026-12-11"),
        ("the day after Christmas", "2026-12-26"),
        ("the 3rd of next month", "2026-12-03"),
        ("the last Friday of next month", "2026-12-25"),
        ("the first Monday of March", "2027-03-01"),
        ("the last day of February 2028", "2028-02-29"),
        ("Halloween last year", "2025-10-31"),
        ("10 working days from today", "2026-12-11"),
        ("Monday next week", "2026-11-30"),
        ("march 3 next year", "2027-03-03"),
        ("New Year's Eve", "2026-12-31"),
        ("a fortnight from tomorrow", "2026-12-12"),
        ("on the 15th", "2026-12-15"),
        ("내일모레", "2026-11-29"),
        ("사흘 뒤", "2026-11-30"),
        ("보름 뒤", "2026-12-12"),
        ("열흘 전", "2026-11-17"),
        ("지난주 월요일", "2026-11-16"),
        ("지난 월요일", "2026-11-23"),
        ("오는 수요일", "2026-12-02"),
        ("다다음 주 화요일", "2026-12-08"),
        ("다음 달 3일", "2026-12-03"),
        ("다음 달 첫째 월요일", "2026-12-07"),
        ("이달 말일", "2026-11-30"),
        ("2028년 2월 마지막 날", "2028-02-29"),
        ("석 달 전", "2026-08-27"),
        ("영업일 기준 5일 뒤", "2026-12-04"),
        ("크리스마스 사흘 전", "2026-12-22"),
        ("3월 3일에서 10일 뒤", "2027-03-13"),
        ("작년 크리스마스", "2025-12-25"),
        ("1월 31일에서 한 달 뒤", "2027-02-28"),
        ("12월 31일 하루 뒤", "2027-01-01"),
    ],
)
def test_a_phrase_is_one_day(text: str, day: str) -> None:
    (named,) = find_days(text, FRIDAY)
    assert (named.first.isoformat(), named.is_day, text[named.start : named.end]) == (
        day,
        True,
        text.removeprefix("on "),
    )


@table(
    ("text", "first", "last"),
    [
        ("이번 주말", "2026-11-28", "2026-11-29"),
        ("next weekend", "2026-12-05", "2026-12-06"),
        ("last week", "2026-11-16", "2026-11-22"),
        ("다음 달", "2026-12-01", "2026-12-31"),
        ("2028년 2월", "2028-02-01", "2028-02-29"),
        ("작년", "2025-01-01", "2025-12-31"),
    ],
)
def test_a_phrase_may_be_more_than_a_day(text: str, first: str, last: str) -> None:
    (named,) = find_days(text, FRIDAY)
    assert (str(named.first), str(named.last)) == (first, last)


@pytest.mark.parametrize(
    "text", ["지금 몇 시야?", "for 3 days", "2월 30일", "every Friday", "매주 월요일", "you may 5 times", "May I come?"]
)
def test_what_names_no_day_gives_none(text: str) -> None:
    assert find_single_days(text, MONDAY) == []


def test_a_day_of_a_month_is_no_number_of_days() -> None:
    assert find_single_days("3월 5일 뒤에 봐", MONDAY) == [date(2027, 3, 5)]


def test_a_day_that_is_named_twice_counts_once() -> None:
    assert find_single_days("내일, 그러니까 11월 24일", MONDAY) == [date(2026, 11, 24)]


@table(
    ("text", "is_"),
    [
        ("We opened on 1 April", True),
        ("가게를 4월 1일에 열었어", True),
        ("How long since 3 March?", True),
        ("We open on 1 April", False),
        ("The meeting is planned for 3 May", False),
        ("크리스마스까지 며칠 남았어?", False),
        ("4월 1일에 열었으면 좋겠어", False),
        ("약속이 있어", False),
    ],
)
def test_the_verbs_say_whether_a_text_is_about_the_past(text: str, is_: bool) -> None:
    assert is_past(text) is is_


def test_the_past_tense_chooses_the_past() -> None:
    assert find_single_days("We opened on 1 April.", FRIDAY) == [date(2026, 4, 1)]
    assert find_single_days("We open on 1 April.", FRIDAY) == [date(2027, 4, 1)]
    assert find_written("We opened on 1 April. The fair is on 1 May.", FRIDAY) == [date(2026, 4, 1), date(2027, 5, 1)]


def test_the_15th_after_a_date_is_of_its_month() -> None:
    assert find_single_days("3월 1일부터 24일까지", FRIDAY) == [date(2027, 3, 1), date(2027, 3, 24)]
    assert find_single_days("from March 20 to the 3rd", FRIDAY) == [date(2027, 3, 20), date(2027, 4, 3)]


@table(
    ("day", "count", "unit", "moved"),
    [
        ("2028-02-29", 1, "year", "2029-02-28"),
        ("2026-12-31", 2, "month", "2027-02-28"),
        ("2027-01-01", -1, "day", "2026-12-31"),
        ("2026-11-27", 1, WORKING_DAY, "2026-11-30"),
        ("2026-11-28", 1, WORKING_DAY, "2026-11-30"),
        ("2026-11-30", -1, WORKING_DAY, "2026-11-27"),
        ("2026-11-30", 0, WORKING_DAY, "2026-11-30"),
    ],
)
def test_a_day_is_moved(day: str, count: int, unit: str, moved: str) -> None:
    assert shift_day(date.fromisoformat(day), count, unit).isoformat() == moved


def test_a_day_beyond_the_calendar_is_an_error() -> None:
    with pytest.raises((ValueError, OverflowError)):
        shift_day(date(9999, 12, 1), 60, "day")
    with pytest.raises(OverflowError):
        shift_day(date(2026, 1, 1), 10**9, WORKING_DAY)


def test_working_days_are_counted_from_monday_to_friday() -> None:
    assert count_working_days(date(2026, 11, 27), date(2026, 12, 4)) == 6
    assert count_working_days(date(2026, 11, 28), date(2026, 11, 29)) == 0
    assert count_working_days(date(2026, 11, 1), date(2026, 11, 30)) == 21
    assert count_working_days(date(2026, 11, 27), date(2026, 11, 27)) == 1


def test_the_nth_weekday_of_a_month() -> None:
    assert find_nth(2, 1, 2027, 3) == date(2027, 3, 9)
    assert find_nth(0, 4, 2026, 12) == date(2026, 12, 25)
    assert find_nth(5, 0, 2027, 2) is None


def test_amounts_are_read_in_words_and_digits() -> None:
    found = [
        (amount.count, amount.unit) for amount in find_amounts("사흘, 보름, 3영업일, two weeks, a fortnight, 석 달")
    ]
    assert found == [(3, "day"), (15, "day"), (3, WORKING_DAY), (2, "week"), (14, "day"), (3, "month")]


def test_only_the_beginning_of_a_long_text_is_read() -> None:
    assert find_days("in " * 1_000 + "3 days", FRIDAY) == []
    assert find_written("3월 3일에 만나요. " * 12_000 + "5월 5일에 또 만나요.", FRIDAY) == [date(2027, 3, 3)]
