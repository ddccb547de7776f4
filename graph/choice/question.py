"""Reads a whole question about days and times, and writes its expression.

A message is read when every word of it is a day, an amount of time, a place, a time of day, or a word of which such
questions are made (``question.txt``). Any other word means that something is asked that code does not know of, so the
message is left to the model.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cache
from pathlib import Path
from zoneinfo import ZoneInfo

from graph.tool.calculation import zone
from graph.tool.calculation.expression import HERE
from graph.tool.calculation.zone import NamedPlace
from text.date import when
from text.date.calendar import NamedDays, find_amounts, find_days, shift_day
from text.date.day_phrase import read_meanings

MAX_CHARS = 160
"""Most characters of a question that is read as a whole."""
LONG_CHARS = 1_000
"""A longer message asks for more than the time."""
_TABLE = Path(__file__).with_suffix(".txt")
_MARK = "\N{WHITE SQUARE}"
"""Stands in a question for what was read of it."""
_COUNT = re.compile(
    r"\bhow (?:many|much) (?:more )?(?:(?P<work>working|business|work) days"
    r"|(?P<unit>days?|sleeps|nights|weeks?|months?|years?|weekdays|workdays)\b)"
    r"|\bhow (?:long|far)\b|\bcountdown\b|\b(?:number|count) of days\b|\bcount the days\b|디데이|\bd-?day\b"
    r"|^days (?:until|till|til|to|between|from|since)\b"
    r"|(?P<work_ko>영업일|평일|근무일|워킹데이)[은이가로]?\s?(?:은 )?(?:총 )?(?:며칠|몇|얼마)|몇\s?(?P<work_day>영업일)"
    r"|몇\s?(?P<unit_ko>주|달|개월|년|밤|박)(?!\s?요일)|얼마나?\s?(?:남|지|됐|되|더)"
    r"|(?:며칠|몇\s?일)(?:이나|이|쯤|간)?\s?(?:더\s)?(?:남|지났|지나|됐|되었|차이|사이|동안|걸|뒤|후|전|있|간격)"
    r"|(?:까지|부터|사이|차이|간격|동안|에서)[은는이가]?\s?(?:총 )?(?:며칠|몇\s?일)",
    re.IGNORECASE,
)
"""Matches what asks for a number of days or longer times."""
_DAY = re.compile(
    r"\b(?:what|which)(?:['’]?s| is| was| will be)? (?:the )?(?:day|weekday|date)\b|\bday of the week\b"
    r"|\bwhen\b|\bweekday\b|\bdate\b|요일|날짜|언제|며칠|몇\s?일|몇\s?월",
    re.IGNORECASE,
)
"""Matches what asks for a date or its weekday."""
_TIME = re.compile(r"\btime\b|\bclock\b|몇\s?시(?!간)|시간|시각", re.IGNORECASE)
"""Matches what asks for a time of day."""
_UNTIL = re.compile(r"\b(?:until|till|til|left|remain\w*|to go|away)\b|까지|남|디데이|\bd-?day\b", re.IGNORECASE)
_SINCE = re.compile(r"\b(?:since|ago|passed|elapsed)\b|지났|지나|됐|되었", re.IGNORECASE)
_IF_TODAY = re.compile(r"\b(?:if|assuming|suppose) today (?:is|was|were) |오늘이 ", re.IGNORECASE)
_AFTER_IF = re.compile(r"이면|이라면|라면|이라고 하면|이라 치면|,?\s*then\b|,|\s*[?.!]*\Z", re.IGNORECASE)
_OWN = re.compile(
    r"\b(?:do|did|can|will|shall|would|could|am|are|was|were|have|had) (?:i|you|we|she)\b"
    r"(?! (?:please )?(?:tell|say|check|compute|count|know|calculate)\b)",
    re.IGNORECASE,
)
"""Matches what asks about somebody's own plans."""
_FREE = re.compile(r"시간 ?(?:좀 ?)?(?:있|되|돼)|(?:have|got) (?:any |some )?time\b", re.IGNORECASE)
"""Matches what asks whether somebody has time."""
_THERE = re.compile(r"(?<!\bis )(?<!\bare )(?<!['’]s )\bthere\b", re.IGNORECASE)
"""Matches what points to a place, of this message or an earlier one."""
_YEAR = re.compile(r"\b(?:last|this|next) year\b|작년|올해|내년", re.IGNORECASE)
"""Matches a year that was read as that of a day elsewhere in the question: any other is gone from the rest."""
_NOON = re.compile(r"\b(?:noon|midday)\b|정오|(?P<midnight>\bmidnight\b|자정)", re.IGNORECASE)
_HOURS = re.compile(
    r"(?<![\d시])(?<!\d시 )(?:\b(?P<lead>in|after)\s+)?"
    r"(?:(?P<count>\d{1,4})|\b(?P<word>an?|one|two|three|four|five|six|half an|ten|twelve)\b"
    r"|(?P<word_ko>한|두|세|네|다섯|여섯|열두))\s?-?(?P<unit>hours?|minutes?|mins?|시간|분)"
    r"(?P<half>\s?반| and a half)?(?:\s(?P<minutes>\d{1,2})\s?(?:분|minutes?))?"
    r"\s?(?P<way>from now|later|ago|earlier|뒤|후|이후|있다가|지나면|지나서|전)?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class QuestionParts:
    """What a question names: its text with the rest, and the days, places, times of day and minutes from then on.
    ``local``: the user's own zone, where it has a name."""

    text: str
    rest: str
    today: date
    days: tuple[NamedDays, ...]
    places: tuple[NamedPlace, ...]
    clocks: tuple[when.Clock, ...]
    minutes: int | None
    is_supposed: bool = False
    local: str = ""


def read_time_question(message: str, now: datetime) -> list[str]:
    """Returns the expressions that answer a whole question about days or times, most often one; none when a word of it
    is not known, or it asks for nothing that the grammar has."""
    text = unicodedata.normalize("NFKC", message).strip()
    if len(text) > MAX_CHARS:
        return []
    parts = find_parts(text, now)
    if find_unread(parts.rest) or _OWN.search(parts.rest) or _FREE.search(text) or _points_back(parts):
        return []
    if {"week", "month"} <= {named.lacks for named in parts.days}:  # «Friday the 13th»
        return []
    if parts.clocks or parts.minutes is not None:
        return _write_time(parts)
    if parts.places:
        return []
    count = _COUNT.search(parts.rest)
    if count and parts.days:
        return _write_count(parts, _find_unit(count))
    is_moved = len(parts.days) == 1 and bool(find_amounts(text[parts.days[0].start : parts.days[0].end]))
    is_asked = _DAY.search(parts.rest) or (is_moved and re.match(r"what(?:['’]?s| is| was)\b", text, re.IGNORECASE))
    if not is_asked or find_amounts(parts.rest) or any(map(_is_long, parts.days)):
        return []
    asked = dict.fromkeys(day for named in parts.days for day in (named.first, named.last))
    return [f"weekday({day})" for day in asked if day != parts.today or parts.is_supposed]


def has_unread(message: str, now: datetime) -> bool:
    """Returns whether the sentence of a message that asks has words, days or numbers beside a plain question about the
    time."""
    text = unicodedata.normalize("NFKC", message).strip()
    if len(text) > LONG_CHARS:
        return True
    parts = find_parts(text, now)
    named = [day for day in parts.days if day.first != now.date()]
    if _FREE.search(text) or _points_back(parts) or named or parts.clocks or parts.minutes is not None:
        return True
    if re.search(r"\d", parts.rest) or find_amounts(parts.rest):
        return True
    return bool(find_unread(re.split(r"(?<=[.!?,;])\s+|(?<=데)\s|(?<=니까)\s|(?<=려고)\s", parts.rest)[-1]))


def _points_back(parts: QuestionParts) -> bool:
    """Returns whether a question means a place that another message named: «what time is it there?»."""
    return not (parts.days or parts.places) and _THERE.search(parts.rest) is not None


def find_parts(text: str, now: datetime) -> QuestionParts:
    """Returns what a question names. A day that is supposed to be today («if today is 1 May») is today for the rest."""
    today, supposed = now.date(), False
    if condition := _IF_TODAY.search(text):
        for named in find_days(text[condition.end() :], today):
            after = _AFTER_IF.match(text, condition.end() + named.end)
            if named.start == 0 and named.is_day and after:
                text, today, supposed = f"{text[: condition.start()]} {text[after.end() :]}", named.first, True
            break
    hours = list(_HOURS.finditer(text))
    clocks = [*when.find_clock_times(text), *_read_noon(text)]
    clocks = [clock for clock in clocks if not any(_is_span_overlapping(clock, *found.span()) for found in hours)]
    days = [
        named
        for named in find_days(text, today)
        if not any(_is_span_overlapping(named, *found.span()) for found in hours)
    ]
    places = [
        place
        for place in zone.find_places(text)
        if not any(_is_span_overlapping(place, day.start, day.end) for day in days)
    ]
    marked: list[NamedDays | when.Clock | NamedPlace] = [*days, *clocks, *places]
    spans = [(found.start, found.end) for found in marked] + [found.span() for found in hours]
    rest = text
    for start, end in sorted(spans, reverse=True):
        rest = f"{rest[:start]}{_MARK}{rest[end:]}"
    rest = _YEAR.sub(_MARK, rest)
    is_moved = all(found["way"] or found["lead"] for found in hours)
    rest = rest if is_moved else text  # «I need an hour»
    minutes = sum(map(_count_minutes, hours)) if hours and is_moved else None
    local = now.tzinfo.key if isinstance(now.tzinfo, ZoneInfo) else ""
    return QuestionParts(text, rest, today, tuple(days), tuple(places), tuple(clocks), minutes, supposed, local)


def _is_long(named: NamedDays) -> bool:
    """Returns whether days are more than a week."""
    return (named.last - named.first).days >= 7


def _is_span_overlapping(found: NamedDays | when.Clock | NamedPlace, start: int, end: int) -> bool:
    return found.start < end and start < found.end


def _read_noon(text: str) -> Iterator[when.Clock]:
    for match in _NOON.finditer(text):
        yield when.Clock(match.start(), match.end(), 0 if match["midnight"] else 12, 0, True)


def _count_minutes(found: re.Match[str]) -> int:
    """Returns the minutes of «3 hours», «한 시간 반 뒤», «20 minutes ago»."""
    word = (found["word"] or found["word_ko"] or "").casefold()
    half = word == "half an"
    count = int(found["count"]) if found["count"] else 0 if half else int(read_meanings("number")[word])
    is_hours = found["unit"].casefold() in ("hour", "hours", "시간")
    whole = count * (60 if is_hours else 1) + (30 if half or found["half"] else 0) + int(found["minutes"] or 0)
    return -whole if (found["way"] or "").casefold() in ("ago", "earlier", "전") else whole


def find_unread(rest: str) -> list[str]:
    """Returns the words of the rest of a question that do not belong to such questions."""
    known = _load_question_words()
    unread = []
    for match in re.finditer(rf"[a-z'’]+|[가-힣]+|\d+|[^\s\w{_MARK}]", rest.casefold()):
        word, before = match[0], rest[match.start() - 1 : match.start()]
        if re.match("[가-힣]", word):
            is_read = _is_built(word, known["ko_stem"], known["ko_end"], before in (_MARK, *"0123456789"))
        elif plain := word.replace("’", "'").strip("'"):
            is_read = plain in known["en"] or plain in '?.,!~·:()-…"^;'
        else:
            is_read = True
        if not is_read:
            unread.append(word)
    return unread


def _is_built(word: str, stems: frozenset[str], ends: frozenset[str], follows: bool) -> bool:
    """Returns whether a Korean word is made of known parts, with a stem first unless it ``follows`` what was read."""
    reached = {0}
    for start in range(len(word)):
        if start in reached:
            parts = stems | ends if start or follows else stems
            reached |= {start + size for size in range(1, 6) if word[start : start + size] in parts}
    return len(word) in reached


def _find_unit(count: re.Match[str]) -> str:
    """Returns the unit that a question counts in."""
    if count["work"] or count["work_ko"] or count["work_day"] or count["unit"] in ("weekdays", "workdays"):
        return "workdays"
    word = (count["unit"] or "").casefold()
    if count["unit_ko"]:
        return {"주": "weeks", "달": "months", "개월": "months", "년": "years"}.get(count["unit_ko"], "days")
    return next((f"{unit}s" for unit in ("week", "month", "year") if word.startswith(unit)), "days")


def _write_count(parts: QuestionParts, unit: str) -> list[str]:
    """Returns the expression of a number of days: until a day, since a day, between two, or within a month.

    Working days count both ends, so that those until or since a day begin a day later.
    """
    text, today = parts.rest, parts.today
    if len(parts.days) > 2 or find_amounts(text):
        return []
    days = [named for named in parts.days if not (len(parts.days) == 2 and named.first == today and named.is_day)]
    until, since = _UNTIL.search(parts.text), _SINCE.search(parts.text)
    if len(days) == 2:
        if not all(named.is_day for named in days):
            return []
        first, last = (named.first for named in days)
        if first > last and days[1].lacks == "year":  # «from 20 December to 3 January»
            last = shift_day(last, 1, "year")
        return [f"{unit}({first}, {last})"] if first <= last else []
    named = days[0]
    if not named.is_day and not until and not since:
        first = named.first if unit == "workdays" else named.first - timedelta(days=1)
        return [f"{unit}({first}, {named.last})"] if unit in ("days", "workdays") else []
    day = named.last if until and named.first <= today <= named.last else named.first
    if day == today or (until and not since and day < today) or (since and not until and day > today):
        return []
    base, late = "today" if not parts.is_supposed else str(today), " + 1 day" if unit == "workdays" else ""
    return [f"{unit}({day}{late}, {base})" if day < today else f"{unit}({base}{late}, {day})"]


def _write_time(parts: QuestionParts) -> list[str]:
    """Returns the expression of a time of day: at a place, at another place, or some hours from then."""
    others = [named for named in parts.days if named.first != parts.today or not named.is_day]
    is_asked = _TIME.search(parts.rest) or len(parts.places) == 2
    if others or len(parts.clocks) > 1 or len(parts.places) > 2 or not is_asked:
        return []
    moved = f" {'-' if parts.minutes < 0 else '+'} {abs(parts.minutes)} minutes" if parts.minutes else ""
    names = [place.zone for place in parts.places]
    if not parts.clocks:
        return [f"time({names[0] if names else HERE}){moved}"] if len(names) <= 1 and moved else []
    clock = parts.clocks[0]
    if not clock.certain or not (names or moved):
        return []
    source, target = _order_places(parts, clock)
    return [f"time({clock.hour % 24:02}:{clock.minute:02}, {source}, {target}){moved}"]


def _order_places(parts: QuestionParts, clock: when.Clock) -> tuple[str, str]:
    """Returns the zone of a time of day and the zone that is asked for: the place that stands next to the time is its
    own, and the user's is the one that is not named."""
    nearest = min(parts.places, key=lambda place: _measure_gap(place, clock), default=None)
    if nearest is None:
        return HERE, HERE
    other = next((place.zone for place in parts.places if place is not nearest), HERE)
    is_apart = re.search(r"\bhere\b|여기|우리", parts.rest) is None and len(parts.places) == 1
    is_beside = _measure_gap(nearest, clock) <= 6
    return (HERE, nearest.zone) if is_apart and not is_beside else (nearest.zone, other)


def _measure_gap(place: NamedPlace, clock: when.Clock) -> int:
    return max(place.start - clock.end, clock.start - place.end)


@cache
def _load_question_words() -> dict[str, frozenset[str]]:
    """Returns the words of each section of the table."""
    text = _TABLE.read_text("utf-8")
    sections = re.findall(r"\[(\w+)\]\n(.*?)(?=\n\[|\Z)", text, re.DOTALL)
    return {name: frozenset(words.split()) for name, words in sections}
