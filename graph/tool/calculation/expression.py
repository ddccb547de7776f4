"""The one grammar of sums and dates, and what an expression comes to.

A sum has numbers, + - * / ^ and brackets (``graph.tool.calculation.arithmetic``). A day is ``today``, a date,
``next(friday)``, ``last(friday)`` or ``nth(2, friday, 2027-03)``, and may be moved: ``today + 10 working days``.
``days(DAY, DAY)`` counts from one day to another, also in ``weeks``, ``months``, ``years`` and ``workdays``;
``weekday(DAY)`` asks for the weekday. ``time(PLACE)`` is the time there, ``time(15:00, PLACE, PLACE)`` a time of the
first place at the second; both may be moved: ``time(Tokyo) + 3 hours``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from graph.tool.calculation import arithmetic, zone
from graph.tool.calculation.arithmetic import CannotCalculate
from text.date import when
from text.date.calendar import UNITS, count_working_days, find_nth, shift_day

HERE = "here"
"""The place of the user, in an expression."""
_WEEKDAY = "|".join(when.WEEKDAYS)
_DATE = r"\d{4}-\d\d-\d\d"
_MOVED = rf"(?:\s*[+-]\s*\d{{1,5}}\s+(?:{'|'.join(UNITS)})s?)*"
_NTH = rf"nth\(\s*(?:[1-5]|last)\s*,\s*(?:{_WEEKDAY})\s*,\s*\d{{4}}-\d\d\s*\)"
_START = rf"today|{_DATE}|(?:next|last)\(\s*(?:{_WEEKDAY})\s*\)|{_NTH}"
_DAY = rf"(?:{_START}){_MOVED}"
_COUNTED = re.compile(rf"(?P<unit>days|weeks|months|years|workdays)\(\s*(?P<first>{_DAY})\s*,\s*(?P<last>{_DAY})\s*\)")
_ASKED_DAY = re.compile(rf"weekday\(\s*(?P<of>{_DAY})\s*\)|(?P<day>{_DAY})")
_HOURS = r"(?P<moved>(?:\s*[+-]\s*\d{1,5}\s+(?:hour|minute)s?)*)"
_PLACE = r"[^\W\d][\w .'/+-]*"
_CLOCK = re.compile(
    rf"time\(\s*(?:(?P<hour>\d{{1,2}}):(?P<minute>\d\d)\s*(?:,\s*(?P<source>{_PLACE}?)\s*,\s*(?P<target>{_PLACE}?))?"
    rf"|(?P<place>{_PLACE}?)?)\s*\){_HOURS}"
)
_STEP = re.compile(r"([+-])\s*(\d{1,5})\s+([a-z]+(?: day)?)")
GRAMMAR = f"""root ::= sum | day | counted | "weekday(" day ")" | clock
sum ::= term (sign term)*
sign ::= "+" | "-" | "*" | "/" | "^"
term ::= number | "(" sum ")"
number ::= [0-9]{{1,15}} ("." [0-9]{{1,6}})?
day ::= start (" " [+-] " " [0-9]{{1,4}} " " ("working day" | "day" | "week" | "month" | "year") "s"?)?
start ::= "today" | date | ("next(" | "last(") weekday ")" | "nth(" ([1-5] | "last") ", " weekday ", " yearmonth ")"
date ::= yearmonth "-" [0-3] [0-9]
yearmonth ::= [12] [0-9] [0-9] [0-9] "-" [01] [0-9]
weekday ::= {" | ".join(f'"{name}"' for name in when.WEEKDAYS)}
counted ::= ("days" | "weeks" | "months" | "years" | "workdays") "(" day ", " day ")"
clock ::= "time(" (hour ", " place ", " place | hour | place) ")" (" " [+-] " " [0-9]{{1,3}} " " ("hours" | "minutes"))?
hour ::= [0-2]? [0-9] ":" [0-5] [0-9]
place ::= [A-Z] [A-Za-z ]{{0,20}} | "here"
"""
"""The same in llama.cpp's form: all that its server lets the model write; other servers ignore it."""


@dataclass(frozen=True, slots=True)
class Reckoning:
    """What an expression comes to: ``text`` for a model, and as plain data ``facts`` for the wording: a ``day``, a
    ``count`` of ``unit`` from ``first`` to ``last``, or a ``moment`` in a ``zone``; empty for a sum."""

    text: str
    facts: dict[str, str]


def is_dated(expression: str) -> bool:
    """Returns whether an expression is about days or times and no sum."""
    return any(pattern.fullmatch(expression.strip()) for pattern in (_COUNTED, _ASKED_DAY, _CLOCK))


def reckon_expression(expression: str, now: datetime) -> Reckoning:
    """Returns what an expression comes to. ``now``: the moment, in the user's zone. Raises ``CannotCalculate``."""
    plain = expression.strip()
    try:
        if counted := _COUNTED.fullmatch(plain):
            return _count_between(
                counted["unit"], read_day(counted["first"], now.date()), read_day(counted["last"], now.date())
            )
        if asked := _ASKED_DAY.fullmatch(plain):
            return _tell_day(read_day(asked["of"] or asked["day"], now.date()), now.date())
        if clock := _CLOCK.fullmatch(plain):
            return _tell_time(clock, now)
    except (ValueError, OverflowError) as error:
        raise CannotCalculate(f"{expression[:80]!r} is beyond the calendar ({error}).") from error
    return Reckoning(arithmetic.solve_expression(expression), {})


def read_day(text: str, today: date) -> date:
    """Returns the date of a day in an expression. Raises ``ValueError`` and ``OverflowError`` where there is none."""
    start = re.match(_START, text)
    if start is None:
        raise ValueError(f"no day: {text!r}")
    day = _read_start(start[0], today)
    for sign, count, unit in _STEP.findall(text[start.end() :]):
        day = shift_day(day, int(count) if sign == "+" else -int(count), unit.removesuffix("s"))
    return day


def _read_start(text: str, today: date) -> date:
    name, _, rest = text.partition("(")
    if name == "today":
        return today
    if not rest:
        return date.fromisoformat(name)
    parts = [part.strip() for part in rest.rstrip(") ").split(",")]
    if name == "nth":
        count, weekday = 0 if parts[0] == "last" else int(parts[0]), when.WEEKDAYS.index(parts[1])
        found = find_nth(count, weekday, *map(int, parts[2].split("-")))
        if found is None:
            raise ValueError(f"{parts[2]} has no such {parts[1]}")
        return found
    distance = (when.WEEKDAYS.index(parts[0]) - today.weekday()) % 7
    return today + timedelta(days=(distance or 7) if name == "next" else distance - 7)


def _count_between(unit: str, first: date, last: date) -> Reckoning:
    early, late = sorted((first, last))
    months = (late.year - early.year) * 12 + late.month - early.month - (late.day < early.day)
    whole = {
        "days": (late - early).days,
        "weeks": (late - early).days // 7,
        "months": months,
        "years": months // 12,
        "workdays": count_working_days(early, late),
    }[unit]
    rest = {
        "weeks": (late - early).days % 7,
        "months": (late - shift_day(early, months, "month")).days,
        "years": (late - shift_day(early, months // 12, "year")).days,
    }.get(unit, 0)
    facts = {"count": str(whole), "unit": unit, "rest": str(rest), "first": str(early), "last": str(late)}
    beside = f" and {rest} days" if rest else ""
    return Reckoning(f"{unit} from {early} ({early:%A}) to {late} ({late:%A}) = {whole}{beside}", facts)


def _tell_day(day: date, today: date) -> Reckoning:
    distance = (day - today).days
    far = f"in {distance} days" if distance > 0 else f"{-distance} days ago" if distance else "today"
    return Reckoning(f"{day} {day:%A}, {far}", {"day": day.isoformat(), "distance": str(distance)})


def _tell_time(clock: re.Match[str], now: datetime) -> Reckoning:
    """Reads the time of a place, or a time of one place at another, both moved by hours and minutes."""
    source, target = _find_zone(clock["source"], now), _find_zone(clock["target"] or clock["place"], now)
    moment = now.astimezone(source)
    if clock["hour"] is not None:
        moment = moment.replace(hour=int(clock["hour"]) % 24, minute=int(clock["minute"]), second=0, microsecond=0)
    steps = [(int(f"{sign}{count}"), unit) for sign, count, unit in _STEP.findall(clock["moved"])]
    minutes = sum(count * (60 if unit.startswith("hour") else 1) for count, unit in steps)
    there = datetime.fromtimestamp(moment.timestamp() + minutes * 60, target)  # real minutes, also where clocks change
    name = target.key if isinstance(target, ZoneInfo) and (clock["target"] or clock["place"] or HERE) != HERE else ""
    facts = {"moment": there.isoformat(), "zone": name, "stated": "yes" if clock["hour"] or minutes else ""}
    return Reckoning(f"{there:%Y-%m-%d} {there:%A} {there:%H:%M}, {name or 'local time'}", facts)


def _find_zone(place: str | None, now: datetime) -> tzinfo | None:
    """Returns the zone of a place; the user's own for none and ``here``. Raises ``CannotCalculate``."""
    if not place or place.strip() == HERE:
        return now.tzinfo
    name = zone.find_place_zone(place.strip())
    if name is None:
        raise CannotCalculate(f"There is no time zone {place!r}. Give a city, a country or an IANA zone.")
    return ZoneInfo(name)
