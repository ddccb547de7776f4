"""The days that a message names, as dates: written out, counted from today, or a weekday of this or a coming week."""

from __future__ import annotations

import re
from datetime import date, timedelta

from text import when

_NEAR = {
    "그저께": -2, "그제": -2, "어제": -1, "오늘": 0, "내일": 1, "모레": 2, "글피": 3,
    "day before yesterday": -2, "day after tomorrow": 2, "yesterday": -1, "today": 0, "tomorrow": 1,
}  # fmt: skip
_NAMED = re.compile("|".join(sorted(_NEAR, key=len, reverse=True)), re.IGNORECASE)
_COUNTED = re.compile(
    r"(?<!월)(?<!월 )(?<!\d)(\d{1,4})\s?(일|주일?)\s?(뒤|후|전)"
    r"|\b(?:in )?(\d{1,4}) (day|week)s?( from now| from today| ago)?",
    re.IGNORECASE,
)
_WEEK = re.compile(
    r"(이번|다음|다다음)\s?주\s?([월화수목금토일])요일|\b(this|next) (mon|tues|wednes|thurs|fri|satur|sun)day\b",
    re.IGNORECASE,
)
_WEEKS = {"이번": 0, "this": 0, "다음": 1, "next": 1, "다다음": 2}
_KOREAN = "월화수목금토일"
_ENGLISH = ("mon", "tues", "wednes", "thurs", "fri", "satur", "sun")


def days(text: str, today: date) -> list[date]:
    """Returns the dates that a text names, in order, each once; a date without a year is the next such date."""
    matches = [*_written(text, today), *_near(text, today), *_counted(text, today), *_of_weeks(text, today)]
    return list(dict.fromkeys(day for _, day in sorted(matches)))


def written(text: str) -> list[str]:
    """Returns the dates that a text writes out with month and day, as they are written, in order, each once."""
    matches = (named for named in when.days(text) if named.month is not None and named.day is not None)
    return list(dict.fromkeys(text[named.start : named.end] for named in matches))


def _written(text: str, today: date) -> list[tuple[int, date]]:
    dates = []
    for named in when.days(text):
        if named.month is not None and named.day is not None:
            day = _date(named.year or today.year, named.month, named.day)
            if day is not None and named.year is None and day < today:
                day = _date(today.year + 1, named.month, named.day)
            dates += [(named.start, day)] if day is not None else []
    return dates


def _near(text: str, today: date) -> list[tuple[int, date]]:
    matches = _NAMED.finditer(text)
    return [(match.start(), today + timedelta(days=_NEAR[match.group().casefold()])) for match in matches]


def _counted(text: str, today: date) -> list[tuple[int, date]]:
    dates = []
    for match in _COUNTED.finditer(text):
        number, unit, direction = match[1] or match[4], match[2] or match[5], match[3] or match[6] or ""
        if match[4] and not (direction or match.group().casefold().startswith("in ")):
            continue  # «3 days» alone is a duration
        distance = int(number) * (7 if unit.casefold() in ("주", "주일", "week") else 1)
        dates.append((match.start(), today + timedelta(days=-distance if direction in ("전", " ago") else distance)))
    return dates


def _of_weeks(text: str, today: date) -> list[tuple[int, date]]:
    monday, dates = today - timedelta(days=today.weekday()), []
    for match in _WEEK.finditer(text):
        week = _WEEKS[(match[1] or match[3]).casefold()]
        day = _KOREAN.index(match[2]) if match[2] else _ENGLISH.index(match[4].casefold())
        dates.append((match.start(), monday + timedelta(days=7 * week + day)))
    return dates


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
