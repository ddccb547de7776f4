"""Days that a question names."""

from __future__ import annotations

from datetime import date, datetime

from retrieval.past.asked_day import asked_days, is_within
from tests.table import table

NOW = datetime(2026, 3, 20, 12)  # a Friday


@table(
    ("query", "inside", "outside"),
    [
        ("What did I say yesterday?", date(2026, 3, 19), date(2026, 3, 20)),
        ("어제 뭐라고 했지?", date(2026, 3, 19), date(2026, 3, 18)),
        ("그저께 먹은 거 뭐였지?", date(2026, 3, 18), date(2026, 3, 19)),
        ("What did we plan last week?", date(2026, 3, 9), date(2026, 3, 16)),
        ("지난주에 정한 거 알려 줘", date(2026, 3, 15), date(2026, 3, 8)),
        ("What did I spend last month?", date(2026, 2, 28), date(2026, 3, 1)),
        ("지난달 회비 얼마였지?", date(2026, 2, 1), date(2026, 1, 31)),
        ("작년에 어디 갔었지?", date(2025, 7, 1), date(2026, 1, 1)),
        ("What happened on 4 March?", date(2026, 3, 4), date(2026, 3, 5)),
        ("3월 4일에 무슨 일이 있었지?", date(2026, 3, 4), date(2026, 3, 5)),
        ("What happened on 4 March?", date(2024, 3, 4), date(2024, 3, 5)),
        ("What did we talk about last Monday?", date(2026, 3, 16), date(2026, 3, 9)),
        ("지난주 월요일에 뭐라고 했지?", date(2026, 3, 9), date(2026, 3, 16)),
        ("열흘 전에 말한 식당 어디야?", date(2026, 3, 10), date(2026, 3, 11)),
        ("What did I order three weeks ago?", date(2026, 2, 27), date(2026, 2, 28)),
        ("지난 주말에 간 곳은?", date(2026, 3, 15), date(2026, 3, 16)),
    ],
)
def test_a_day_lies_in_what_is_asked(query: str, inside: date, outside: date) -> None:
    found = asked_days(query, NOW)
    assert any(is_within(inside, named) for named in found)
    assert not any(is_within(outside, named) for named in found)


def test_no_day_is_named() -> None:
    assert asked_days("What did we call the kitten?", NOW) == []
    assert asked_days("금요일에 보자고 했나?", NOW) == [], "a weekday seldom means the day of the talk"
