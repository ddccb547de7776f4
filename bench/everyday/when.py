"""Placeholders in the data for days and times that depend on the machine's clock.

``{date:03-09}`` is a day of this year, ``{date:+9}`` the day nine days from today, ``{weekday:…}`` the weekday of such
a day, ``{time:Asia/Tokyo}`` the time there (in expectations only). In a message of the user a placeholder becomes one
spelling in the conversation's language; in an expectation a placeholder stands for every usual spelling.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

PLACEHOLDER = re.compile(r"\{(date|weekday|time):([^}]+)\}")
MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
WEEKDAYS = {
    "ko": ("월요일", "화요일", "수요일", "목요일", "금요일", "토요일", "일요일"),
    "en": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
}
SLACK = 2
"""Minutes by which a time in an answer may be off."""
_DAY_PART = r"(?P<part>오전|오후|새벽|아침|낮|저녁|밤|정오)?\s*"
_HALF = r"\s*(?P<half>[ap]\.?\s?m\b)?"
_TIMES = (
    re.compile(_DAY_PART + r"(?<![\d:])(?P<hour>\d{1,2}):(?P<minute>\d{2})(?!\d)(?::\d{2})?" + _HALF, re.IGNORECASE),
    re.compile(_DAY_PART + r"(?<!\d)(?P<hour>\d{1,2})\s*시(?!간)\s*(?:(?P<minute>\d{1,2})\s*분)?" + "(?P<half>)"),
    re.compile(r"(?P<part>)(?<![\d:])(?P<hour>\d{1,2})(?P<minute>)\s*(?P<half>[ap]\.?\s?m\b)", re.IGNORECASE),
)


def said(text: str, language: str, now: datetime) -> str:
    """Returns the user's message with the placeholders filled in for today."""
    return PLACEHOLDER.sub(lambda match: _said(match[1], match[2], language, now.date()), text)


def day(argument: str, today: date) -> date:
    """Returns the day that a placeholder's argument means: ``+9`` or ``03-09``."""
    if argument.startswith("+"):
        return today + timedelta(days=int(argument))
    month, number = map(int, argument.split("-"))
    return date(today.year, month, number)


def day_forms(wanted: date) -> list[str]:
    """Returns the usual spellings of a day, without its year."""
    month, number, name = wanted.month, wanted.day, MONTHS[wanted.month - 1]
    english = [f"{month_name} {number}" for month_name in (name, name[:3], f"{name[:3]}.")]
    english += [f"{name} {article}{_ordinal(number)}" for article in ("", "the ")]
    english += [f"{first} {month_name}" for first in _firsts(number) for month_name in (name, name[:3])]
    digits = [f"{month}{sign}{number}" for sign in "/.-"] + [f"{month:02}{sign}{number:02}" for sign in "/.-"]
    return [f"{month}월 {number}일", *english, *digits]


def weekday_forms(wanted: date) -> list[str]:
    """Returns the usual spellings of the day's weekday, in both languages."""
    korean, english = (WEEKDAYS[language][wanted.weekday()] for language in ("ko", "en"))
    return [korean, f"({korean[0]})", english, english[:3]]


def tells_time(answer: str, zone: str, began: datetime, ended: datetime) -> bool:
    """Returns whether the answer names the time of the zone between two moments, with or without a.m. and p.m."""
    first = began.astimezone(ZoneInfo(zone)) - timedelta(minutes=SLACK)
    minutes = int((ended - began).total_seconds() // 60) + 2 * SLACK + 1
    right = {(moment.hour * 60 + moment.minute) for moment in (first + timedelta(minutes=n) for n in range(minutes))}
    return any(time in right for time in times(answer))


def times(answer: str) -> set[int]:
    """Returns every time of day in the answer in minutes since midnight; a time without a.m. or p.m. gives both."""
    return {time for pattern in _TIMES for match in pattern.finditer(answer) for time in _minutes(match)}


def _minutes(match: re.Match[str]) -> set[int]:
    hour, minute = int(match["hour"]), int(match["minute"] or 0)
    if hour > 24 or minute > 59:
        return set()
    part = match["part"]
    half = "a" if part in ("오전", "새벽", "아침") else "p" if part else (match["half"] or "").lower()[:1]
    early, late = hour % 12, hour % 12 + 12
    hours = {hour % 24} if hour > 12 else {"a": {early}, "p": {late}}.get(half, {early, late})
    return {clock_hour * 60 + minute for clock_hour in hours}


def _said(kind: str, argument: str, language: str, today: date) -> str:
    target = day(argument, today)
    if kind == "weekday":
        return WEEKDAYS[language][target.weekday()]
    return day_forms(target)[0 if language == "ko" else 1]


def _firsts(number: int) -> list[str]:
    return [str(number), _ordinal(number), f"{_ordinal(number)} of"]


def _ordinal(number: int) -> str:
    ending = "th" if 11 <= number <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
