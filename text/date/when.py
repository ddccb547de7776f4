"""Dates, weekdays and times of day in Korean and English text, as comparable values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
MONTH = "|".join(rf"{name[:3]}(?:{name[3:]})?" if len(name) > 3 else name for name in MONTHS).replace(
    "sep(?:", "sept?(?:"
)
WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
KOREAN_WEEKDAYS = "월화수목금토일"
_AFTERNOON = frozenset(["오후", "저녁", "밤", "낮", "pm", "p.m", "p.m."])
_MORNING = frozenset(["오전", "아침", "새벽", "am", "a.m", "a.m."])

_DATE = re.compile(
    r"(?=\d|\b[JFMASONDjfmasond])(?:"  # skips other characters quickly: few can begin a date
    r"(?<![\d.])(?P<y1>(?:19|20)\d\d)\s?[-./]\s?(?P<m1>\d{1,2})\s?[-./]\s?(?P<d1>\d{1,2})(?![\d])\.?"
    r"|(?:(?P<y2>(?:19|20)\d\d)년\s?|(?<!\d)\d\d년\s?)?(?<!\d)(?P<m2>\d{1,2})월\s?(?P<d2>\d{1,2})일"
    r"|(?P<y3>(?:19|20)\d\d)년\s?(?P<m3>\d{1,2})월"
    r"|(?<![\d.])(?P<m4>\d{1,2})월(?!\s?\d)"
    r"|(?<![\d.])(?P<y5>(?:19|20)\d\d)년(?!간)"
    rf"|\b(?P<n6>(?i:{MONTH}))\.?\s(?P<d6>\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)(?:,?\s(?P<y6>(?:19|20)\d\d))?"
    rf"|\b(?P<d7>\d{{1,2}})(?:st|nd|rd|th)?\s(?:of\s)?(?P<n7>(?i:{MONTH}))\b(?:,?\s(?P<y7>(?:19|20)\d\d))?"
    rf"|\b(?P<n8>(?i:{MONTH}))\s(?P<y8>(?:19|20)\d\d)\b"
    r"|(?<![\d/.])(?P<m9>1[0-2]|0?[1-9])/(?P<d9>3[01]|[12]\d|0?[1-9])(?:/(?P<y9>(?:19|20)\d\d))?(?![\d/])"
    r")"
)
_SHORT = re.compile(r"(?<![\d.-])(?P<m>1[0-2]|0?[1-9])[-.](?P<d>3[01]|[12]\d|0?[1-9])(?![\d-])")
_WEEKDAY = re.compile(
    rf"(?=[{KOREAN_WEEKDAYS}(]|\b[MTWFSmtwfs])(?:"
    rf"(?P<ko>[{KOREAN_WEEKDAYS}])요일|\((?P<short>[{KOREAN_WEEKDAYS}])\)|\b(?P<en>(?i:{'|'.join(WEEKDAYS)}))s?\b)"
)
_HALF = r"(?P<half{0}>오전|오후|아침|저녁|밤|낮|새벽)\s?"
_MERIDIEM = r"\s?(?P<pm{0}>(?i:[ap]\.m\.?|[ap]m))(?![A-Za-z])"
_TIME = re.compile(
    r"(?=[\d오아저밤낮새])(?:"
    rf"(?:{_HALF.format(1)})?(?<!\d)(?P<h1>\d{{1,2}})시(?!간)(?:\s?(?:(?P<n1>\d{{1,2}})분|(?P<thirty>반)))?"
    rf"|(?:{_HALF.format(2)})?(?<![\d:])(?P<h2>\d{{1,2}}):(?P<n2>\d\d)(?::\d\d(?:\.\d+)?)?(?!\d)"
    rf"(?:{_MERIDIEM.format(2)}|[+-]\d\d:?\d\d|Z\b)?"
    rf"|(?<![\d.:])(?P<h3>\d{{1,2}}){_MERIDIEM.format(3)}"
    r")"
)
_HOURS = ["한", "두", "세", "네", "다섯", "여섯", "일곱", "여덟", "아홉", "열", "열한", "열두"]
_SPELLED = re.compile(rf"(?<![가-힣])({'|'.join(sorted(_HOURS, key=len, reverse=True))})\s?시(?!간)(?:\s?(반))?")


@dataclass(frozen=True, slots=True)
class Day:
    """A date at its place; missing parts are None. ``weekday``: 0 is Monday, and all other parts are None."""

    start: int
    end: int
    year: int | None = None
    month: int | None = None
    day: int | None = None
    weekday: int | None = None

    def same(self, other: Day) -> bool:
        """Returns whether ``other`` says at least what this date says. Beside a month, years are compared only where
        both dates name one.
        """
        if self.weekday is not None:
            return self.weekday == other.weekday
        if self.month is None:
            return self.year == other.year
        years = self.year is None or other.year is None or self.year == other.year
        return years and self.month == other.month and (self.day is None or self.day == other.day)


@dataclass(frozen=True, slots=True)
class Clock:
    """A time of day at its place; ``certain`` when the half of the day is known."""

    start: int
    end: int
    hour: int
    minute: int
    certain: bool

    def same(self, other: Clock) -> bool:
        """Returns whether both times are equal; 7 and 19 o'clock are equal unless both are ``certain``."""
        if self.certain and other.certain:
            return (self.hour, self.minute) == (other.hour, other.minute)
        return (self.hour % 12, self.minute) == (other.hour % 12, other.minute)


def find_day_mentions(text: str) -> Iterator[Day]:
    """Yields dates and weekdays."""
    for match in _DATE.finditer(text):
        if (day := _read_date_match(match)) is not None:
            yield day
    for match in _WEEKDAY.finditer(text):
        yield Day(match.start(), match.end(), weekday=_read_weekday_match(match))


def find_short_dates(text: str) -> Iterator[Day]:
    """Yields what may be dates: ``03-05`` and ``3.5`` for the fifth of March."""
    for match in _SHORT.finditer(text):
        yield Day(match.start(), match.end(), month=int(match["m"]), day=int(match["d"]))


def find_clock_times(text: str, *, loose: bool = False) -> Iterator[Clock]:
    """Yields times of day; with ``loose`` also spelled hours (``일곱 시 반``)."""
    for match in _TIME.finditer(text):
        groups = match.groupdict()
        hour = int(groups["h1"] or groups["h2"] or groups["h3"])
        minute = 30 if groups["thirty"] else int(groups["n1"] or groups["n2"] or 0)
        half = (groups["half1"] or groups["half2"] or groups["pm2"] or groups["pm3"] or "").lower()
        if hour <= 24 and minute < 60:
            yield Clock(match.start(), match.end(), *_apply_day_half(hour, minute, half))
    for match in _SPELLED.finditer(text) if loose else ():
        yield Clock(match.start(), match.end(), _HOURS.index(match[1]) + 1, 30 if match[2] else 0, False)


def _apply_day_half(hour: int, minute: int, half: str) -> tuple[int, int, bool]:
    if half in _AFTERNOON and hour < 12:
        return hour + 12, minute, True
    if half in _MORNING and hour == 12:
        return 0, minute, True
    return hour, minute, bool(half) or hour > 12 or hour == 0


def _read_date_match(match: re.Match[str]) -> Day | None:
    groups = {name[0]: value for name, value in match.groupdict().items() if value is not None}
    if groups.get("n", "").islower():  # "you may 5"
        return None
    month = _read_month_name(groups["n"]) if "n" in groups else int(groups["m"]) if "m" in groups else None
    day = int(groups["d"]) if "d" in groups else None
    if (month is not None and not 1 <= month <= 12) or (day is not None and not 1 <= day <= 31):
        return None
    return Day(match.start(), match.end(), int(groups["y"]) if "y" in groups else None, month, day)


def _read_month_name(name: str) -> int:
    return next(index for index, full in enumerate(MONTHS, 1) if full.startswith(name.lower()[:3]))


def _read_weekday_match(match: re.Match[str]) -> int:
    if match["en"]:
        return WEEKDAYS.index(match["en"].lower())
    return KOREAN_WEEKDAYS.index(match["ko"] or match["short"])
