"""Days that a query about past turns names: «on 4 June», «in March», «last week», «지난주 월요일»."""

from __future__ import annotations

from datetime import date, datetime

from text.date.calendar import NamedDays, find_days


def asked_days(query: str, now: datetime) -> list[NamedDays]:
    """Returns the days that a query names, up to today; weekdays alone left out: they seldom mean the day of the
    conversation."""
    today = now.date()
    return [named for named in find_days(query, today, past=True) if named.lacks != "week" and named.first <= today]


def is_within(day: date, named: NamedDays) -> bool:
    """Returns whether a day is among the named ones; of those without a year, in any year."""
    if named.lacks != "year":
        return named.first <= day <= named.last
    return named.first.month == day.month and (not named.is_day or named.first.day == day.day)
