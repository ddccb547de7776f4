"""The days that a text names, in Korean and English, as dates: written out, by a word, counted, a weekday or a feast.

A phrase may build on another one: «a week from Friday», «크리스마스 사흘 전», «the 3rd of next month», «다음 달 첫
월요일». The words stand in ``text/word/day.txt``, the patterns in ``text.date.day_phrase``; libraries were
measured before these rules were written (decision 10).
"""

from __future__ import annotations

import calendar
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import chain, islice
from typing import Literal

from text import sentence
from text.date import when
from text.date.day_phrase import compile_phrases, normal_form, read_meanings, read_parts

WORKING_DAY = "working day"
Missing = Literal["", "year", "month", "week"]
UNITS = ("day", "week", "month", "year", WORKING_DAY)
MOST_STEPS = 40_000
"""The most units that a day is moved by: about a century of days."""


MOST_CHARS, MOST_SENTENCES = 2_000, 20


@dataclass(frozen=True, slots=True)
class NamedDays:
    """The days from ``first`` to ``last`` that a text names from ``start`` to ``end``. ``lacks``: what is not said and
    does not follow from the words: the year of a date, the month of «the 15th», the week of a weekday."""

    start: int
    end: int
    first: date
    last: date
    lacks: Missing = ""

    @property
    def is_day(self) -> bool:
        """Whether the text names one day, and no longer time."""
        return self.first == self.last


@dataclass(frozen=True, slots=True)
class Amount:
    """A number of days, weeks, months, years or working days in a text: «ten days», «사흘», «3영업일»."""

    start: int
    end: int
    count: int
    unit: str


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the reading of a phrase needs beside the phrase."""

    today: date
    past: bool


def find_days(text: str, today: date, past: bool | None = None) -> list[NamedDays]:
    """Returns the days that a text names, in order; of two that overlap, the longer one.

    A date without a year and a weekday alone are the next such day, or the last one where the text tells of the past.
    ``past``: whether it does; None: as its verbs say. Reads the first ``MOST_CHARS`` characters.
    """
    text = text[:MOST_CHARS]
    asked = _Asked(today, is_past(text) if past is None else past)
    found = leave_longest(chain(_read_plain(text, asked), _read_phrases(text, asked)))
    amounts = [amount for amount in find_amounts(text) if not any(_do_overlap(amount, named) for named in found)]
    moved = [_move_day(text, named, amounts) for named in _complete_days(found)]
    return leave_longest([*moved, *_read_counted(text, amounts, today)])


def _complete_days(found: list[NamedDays]) -> list[NamedDays]:
    """Returns the days with what one says for another: a year for a date («which day is Christmas this year»), and a
    date's month for «the 24th» after it («3월 1일부터 24일까지»)."""
    year = next((named for named in found if (named.first.month, named.last.month) == (1, 12)), None)
    joined: list[NamedDays] = []
    for named in found:
        before = joined[-1] if joined else None
        if named is year and len(found) == 2 and any(other.lacks == "year" for other in found):
            continue
        if named.lacks == "year" and year is not None and len(found) == 2 and named.is_day:
            day = _make_date(year.first.year, named.first.month, named.first.day)
            named = replace(named, first=day, last=day, lacks="") if day else named
        elif named.lacks == "month" and before is not None and before.is_day and before.lacks != "week":
            month = shift_day(before.first.replace(day=1), int(named.first.day < before.first.day), "month")
            day = _make_date(month.year, month.month, named.first.day)
            named = replace(named, first=day, last=day, lacks=before.lacks) if day else named
        joined.append(named)
    return joined


def leave_longest(found: Iterable[NamedDays]) -> list[NamedDays]:
    """Returns what does not overlap anything longer, in order."""
    left: list[NamedDays] = []
    for named in sorted(found, key=lambda named: named.start - named.end):
        if not any(_do_overlap(named, other) for other in left):
            left.append(named)
    return sorted(left, key=lambda named: named.start)


def _do_overlap(one: NamedDays | Amount, other: NamedDays | Amount) -> bool:
    return one.start < other.end and other.start < one.end


def find_amounts(text: str) -> list[Amount]:
    """Returns the amounts of days, weeks and so on that a text has, in order."""
    found = []
    for match in compile_phrases()["amount"].finditer(text):
        words = read_parts(match)
        if "span" in words:
            count, unit = read_meanings("span")[words["span"]].split(maxsplit=1)
        else:
            count = read_meanings("number").get(words["number"], words["number"])
            unit = read_meanings("unit")[words["unit"]]
            unit = WORKING_DAY if "working" in words and unit == "day" else unit
        if unit == "14 day":
            count, unit = str(14 * int(count)), "day"
        if int(count) <= MOST_STEPS:
            found.append(Amount(match.start(), match.end(), int(count), unit))
    return found


def find_single_days(text: str, today: date) -> list[date]:
    """Returns the single days that a text names, in order, each once."""
    return list(dict.fromkeys(named.first for named in find_days(text, today) if named.is_day))


def find_written(text: str, today: date) -> list[date]:
    """Returns the dates that a text writes out with month and day, in order, each once; every sentence has its own
    tense. Reads ``MOST_SENTENCES`` sentences with dates."""
    found: list[date] = []
    dated = (
        (piece, plain)
        for piece in sentence.split_sentences(text)
        if (plain := list(filter(_has_day, when.find_day_mentions(piece))))
    )
    for piece, plain in islice(dated, MOST_SENTENCES):
        for named in find_days(piece, today):
            is_written = any(day.start < named.end and named.start < day.end for day in plain)
            found += [named.first] if named.is_day and is_written else []
    return list(dict.fromkeys(found))


def _has_day(day: when.Day) -> bool:
    return day.month is not None and day.day is not None


def is_past(text: str) -> bool:
    """Returns whether a text tells of the past: by its verbs, or words such as «ago» and «since»."""
    patterns = compile_phrases()
    return bool(patterns["past"].search(patterns["not_past"].sub(" ", text)))


def shift_day(day: date, count: int, unit: str) -> date:
    """Returns the day ``count`` units later; the last day of the month where a month is too short. Raises
    ``ValueError`` and ``OverflowError`` beyond the calendar."""
    if abs(count) > MOST_STEPS:
        raise OverflowError(f"{count} {unit}s lead beyond the calendar")
    if unit in ("month", "year"):
        months = day.year * 12 + day.month - 1 + count * (12 if unit == "year" else 1)
        year, month = months // 12, months % 12 + 1
        return date(year, month, min(day.day, calendar.monthrange(year, month)[1]))
    if unit != WORKING_DAY:
        return day + timedelta(days=count * (7 if unit == "week" else 1))
    step = 1 if count > 0 else -1
    for _ in range(abs(count)):
        day += timedelta(days=step)
        while day.weekday() >= 5:
            day += timedelta(days=step)
    return day


def count_working_days(first: date, last: date) -> int:
    """Returns the days from Monday to Friday from ``first`` to ``last``, both counted; feasts count as any day."""
    whole, rest = divmod((last - first).days + 1, 7)
    return whole * 5 + sum((first.weekday() + number) % 7 < 5 for number in range(rest))


def find_nth(count: int, weekday: int, year: int, month: int) -> date | None:
    """Returns the first, second … weekday (0 is Monday) of a month, 0 for the last; None when it has no such day."""
    length = calendar.monthrange(year, month)[1]
    matching = [day for day in range(1, length + 1) if date(year, month, day).weekday() == weekday]
    return date(year, month, matching[count - 1]) if 0 <= count <= len(matching) else None


def _read_plain(text: str, asked: _Asked) -> Iterator[NamedDays]:
    """Yields the dates, months and years that a text writes out."""
    for day in when.find_day_mentions(text):
        if day.weekday is None:
            words = {"year": day.year, "month": day.month, "day": day.day}
            found = _read_date({key: str(value) for key, value in words.items() if value is not None}, asked)
            if found is not None:
                yield NamedDays(day.start, day.end, *found)


def _read_phrases(text: str, asked: _Asked) -> Iterator[NamedDays]:
    """Yields what one of the readers understands."""
    for name, read in _READERS.items():
        for match in compile_phrases()[name].finditer(text):
            words = read_parts(match)
            try:
                found = read(words, asked) if words else None
            except (ValueError, OverflowError):  # no day of the calendar
                continue
            if found is not None:
                yield NamedDays(match.start(), match.end(), *found)


_Span = tuple[date, date, Missing]
_Words = Mapping[str, str]


def _read_word(words: _Words, asked: _Asked) -> _Span | None:
    day = asked.today + timedelta(days=int(read_meanings("near")[words["near"]]))
    return day, day, ""


def _read_date(words: _Words, asked: _Asked) -> _Span | None:
    """Reads a year, a month and a day, or as much of them as is said."""
    if "of_feast" in words:
        asked = _Asked(asked.today, int(read_meanings("shift")[words["of_feast"]]) < 0)
    year = int(words["year"]) if "year" in words else None
    if "of_year" in words:
        year = asked.today.year + int(read_meanings("year")[words["of_year"]])
    if "same_day" in words and year is not None:
        return _choose_day(lambda each: _make_date(each, asked.today.month, asked.today.day), year, asked)
    if "feast" in words:
        month, number = map(int, read_meanings("feast")[words["feast"]].split("-"))
        return _choose_day(lambda each: _make_date(each, month, number), year, asked)
    if "of_month" in words:
        shift = int({**read_meanings("shift"), **read_meanings("month_shift")}[words["of_month"]])
        moved = shift_day(asked.today.replace(day=1), shift, "month")
        return _read_month(words, moved.month, moved.year, asked)
    if "month_name" in words:
        named = (at for at, full in enumerate(when.MONTHS, 1) if full.startswith(words["month_name"][:3]))
        return _read_month(words, next(named), year, asked)
    if "month" in words:
        return _read_month(words, int(words["month"]), year, asked)
    if "day" in words:
        return _read_day_of_month(int(words["day"]), asked)
    return (date(year, 1, 1), date(year, 12, 31), "") if year is not None else None


def _read_month(words: _Words, month: int, year: int | None, asked: _Asked) -> _Span | None:
    """Reads a day of a month, or the whole month where no day is said."""
    if "nth" in words:
        count, weekday = int(read_meanings("ordinal")[words["nth"]]), _number_weekday(words["weekday"])
        return _choose_day(lambda each: find_nth(count, weekday, each, month), year, asked)
    if "day" in words:
        return _choose_day(lambda each: _make_date(each, month, int(words["day"])), year, asked)
    if "end" in words:
        return _choose_day(lambda each: _make_date(each, month, int(read_meanings("end")[words["end"]])), year, asked)
    last = _choose_day(lambda each: _make_date(each, month, 0), year, asked)
    return (last[0].replace(day=1), last[1], last[2]) if last is not None else None


def _choose_day(make: Callable[[int], date | None], year: int | None, asked: _Asked) -> _Span | None:
    """Returns the day that ``make`` makes of the year; without a year, the next one to come, or the last one in the
    past."""
    if year is not None:
        return (day, day, "") if (day := make(year)) else None
    this = asked.today.year
    every = [day for each in range(this - 8, this + 9) if (day := make(each))]
    if asked.past:
        before = [day for day in every if day <= asked.today]
        return (before[-1], before[-1], "year") if before else None
    coming = [day for day in every if day >= asked.today]
    return (coming[0], coming[0], "year") if coming else None


def _read_day_of_month(number: int, asked: _Asked) -> _Span | None:
    """Reads «on the 15th»: the next such day, or the last one."""
    start, step = asked.today.replace(day=1), -1 if asked.past else 1
    for moved in range(3):
        month = shift_day(start, moved * step, "month")
        day = _make_date(month.year, month.month, number)
        if day and (day <= asked.today if asked.past else day >= asked.today):
            return day, day, "month"
    return None


def _make_date(year: int, month: int, day: int) -> date | None:
    """Returns the date; None where there is none such; ``day`` 0 is the last of the month."""
    if not 1 <= month <= 12:
        return None
    length = calendar.monthrange(year, month)[1]
    return date(year, month, day or length) if 0 <= day <= length else None


def _read_weekday(words: _Words, asked: _Asked) -> _Span | None:
    """Reads a weekday of this or another week («지난주 월요일»), the one before today («last Monday»), or the one to
    come."""
    weekday, monday = _number_weekday(words["weekday"]), asked.today - timedelta(days=asked.today.weekday())
    which = read_meanings("nearest")[words["nearest"]] if "nearest" in words else "last" if asked.past else "coming"
    if "of_week" in words:
        weeks = int({**read_meanings("shift"), **read_meanings("month_shift")}[words["of_week"]])
        day = monday + timedelta(days=7 * weeks + weekday)
    elif which in ("this", "next"):
        day = monday + timedelta(days=weekday + (7 if which == "next" else 0))
    else:
        day = _find_nearest(asked.today, weekday, -1 if which == "last" else 1)
    return day, day, "" if "of_week" in words or "nearest" in words else "week"


def _find_nearest(today: date, weekday: int, step: int) -> date:
    """Returns the nearest day of that weekday before (-1) or after (1) today."""
    distance = (weekday - today.weekday()) * step % 7 or 7
    return today + timedelta(days=distance * step)


def _read_week(words: _Words, asked: _Asked) -> _Span | None:
    """Reads a week or a weekend."""
    shift = int(read_meanings("shift")[words["of_week"]]) if "of_week" in words else 0
    monday = asked.today + timedelta(days=7 * shift - asked.today.weekday())
    if "weekend" in words:
        if "of_week" not in words and asked.past:
            monday -= timedelta(days=7)
        return monday + timedelta(days=5), monday + timedelta(days=6), ""
    return monday, monday + timedelta(days=6), ""


def _number_weekday(name: str) -> int:
    korean = when.KOREAN_WEEKDAYS.find(name[0])
    return korean if korean >= 0 else next(at for at, full in enumerate(when.WEEKDAYS) if full.startswith(name[:3]))


def _move_day(text: str, named: NamedDays, amounts: list[Amount]) -> NamedDays:
    """Returns the day moved by the amount that stands with it: «10 days after 3 March», «3월 3일에서 10일 뒤»."""
    patterns = compile_phrases()
    for amount in amounts:
        if amount.end <= named.start:
            turn, start, end = patterns["from"].fullmatch(text[amount.end : named.start]), amount.start, named.end
        elif patterns["on"].fullmatch(text[named.end : amount.start]):
            turn, start = patterns["turn"].match(text, amount.end), named.start
            end = turn.end() if turn else 0
        elif total := patterns["sum"].fullmatch(text[named.end : amount.start]):
            day = _try_shift(named.first, -amount.count if total["minus"] else amount.count, amount.unit)
            return NamedDays(named.start, amount.end, day, day, named.lacks) if day else named
        else:
            continue
        if turn:
            way = int(read_meanings("way")[normal_form(turn["way"])])
            day = _try_shift(named.first, way * amount.count, amount.unit)
            return NamedDays(start, end, day, day, named.lacks) if day else named
    return named


def _try_shift(day: date, count: int, unit: str) -> date | None:
    """Returns the day moved; None beyond the calendar: «10000 years ago»."""
    try:
        return shift_day(day, count, unit)
    except (ValueError, OverflowError):
        return None


def _read_counted(text: str, amounts: list[Amount], today: date) -> Iterator[NamedDays]:
    """Yields the days that are counted from today: «in two weeks», «사흘 뒤», «열흘 전»."""
    patterns = compile_phrases()
    for amount in amounts:
        turn = patterns["turn"].match(text, amount.end)
        lead = patterns["lead"].search(text, max(0, amount.start - 12), amount.start)
        if turn or (lead and not text[amount.start :].casefold().startswith("the")):
            way = int(read_meanings("way")[normal_form(turn["way"])]) if turn else 1
            if day := _try_shift(today, way * amount.count, amount.unit):
                yield NamedDays(lead.start() if lead else amount.start, turn.end() if turn else amount.end, day, day)


_READERS: dict[str, Callable[[_Words, _Asked], _Span | None]] = {
    "near_ko": _read_word,
    "near_en": _read_word,
    "date_ko": _read_date,
    "day_ko": _read_date,
    "date_en": _read_date,
    "month_first": _read_date,
    "month": _read_date,
    "feast": _read_date,
    "day_en": _read_date,
    "weekday_ko": _read_weekday,
    "weekday_en": _read_weekday,
    "weekday_short": _read_weekday,
    "week_ko": _read_week,
    "week_en": _read_week,
}
