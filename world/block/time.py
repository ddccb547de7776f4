"""When the story is: the day and the time of day, in the words in which models write them."""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import Any

from store.world.record import UNKNOWN_TIME, StoryTime
from text.fact.number import parse_number_word
from world.block.value import NAME_CHARS, is_nothing, read_name_value

_DAY_NAMES = ("day", "date", "날짜", "일차")
"""Names of the field whose value, a number, is the day."""
_ORDINALS = "first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth"
_MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
_KOREAN_DAYS = ("하루", "이틀", "사흘", "나흘", "닷새", "엿새", "이레", "여드레", "아흐레", "열흘")
_DAY = re.compile(
    rf"\b(?:the )?day\s+(?:\d+|[a-z]+\b)|\b(?:the )?(?:\d+(?:st|nd|rd|th)|{_ORDINALS}) day\b"
    rf"|\d+\s*일\s*(?:째|차)(?:\s*날)?|[가-힣]{{1,4}}\s?째\s?날|첫날|제\s*\d+\s*일"
    rf"|(?:{'|'.join(_KOREAN_DAYS)})째(?: 날)?"
    r"|(?:\d{1,4}년\s*)?\d{1,2}월(?:\s*\d{1,2}일)?|\d{4}[-./]\d{1,2}[-./]\d{1,2}"
    rf"|\b(?:{_MONTHS})\s+\d{{1,2}}(?:st|nd|rd|th)?\b|\b\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{_MONTHS})\b"
    r"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|[월화수목금토일]요일",
    re.IGNORECASE,
)
_NEXT = re.compile(r"\b(?:the )?(?:next|following) (?:day\b|(?=morning))|다음\s?날|이튿날", re.IGNORECASE)
_NUMBER = re.compile(r"day (\d+)|(\d+)\s*일\s*[째차]|제\s*(\d+)\s*일", re.IGNORECASE)
_EDGE = " \t\n,;·|/()-–—의"


def write_time(name: str, value: Any) -> str:
    """Returns what a field of this name says as text. YAML reads «21:30» as a number of minutes."""
    if is_nothing(value):
        return ""
    if isinstance(value, datetime | date):
        return value.isoformat(*((" ", "minutes") if isinstance(value, datetime) else ()))
    if isinstance(value, dict):
        return ", ".join(filter(None, (write_time(str(key), item) for key, item in value.items())))
    if isinstance(value, list):
        return ", ".join(filter(None, (write_time(name, item) for item in value)))
    text = str(value).strip()
    if name.strip("\"'`*_ ").casefold() in _DAY_NAMES and text.isdecimal():
        return f"{text}일째" if "가" <= name.strip("\"'`*_ ")[-1] <= "힣" else f"day {text}"
    if isinstance(value, int) and 60 <= value < 24 * 60:
        return f"{value // 60}:{value % 60:02}"
    return text


def join_times(one: Any, other: str) -> str:
    """Returns what two fields say of the time as one text."""
    return ", ".join(filter(None, (str(one or ""), other)))


def read_story_time(value: Any, before: StoryTime = UNKNOWN_TIME) -> StoryTime:
    """Returns when the story is, after ``before``: a time of day alone is one of the same day, and another day alone
    has none yet. Raises ``ValueRefusal``."""
    text = read_name_value(write_time("time", value), NAME_CHARS)
    later = _NEXT.search(text)
    if later and (count := _count_day(before.day)):
        day = f"{count + 1}일째" if re.search("[가-힣]", before.day) else f"day {count + 1}"
        return StoryTime(day, _cut_edges(text[: later.start()], text[later.end() :]))
    match = next((one for one in _DAY.finditer(text) if _names_day(one[0])), None)
    if match is None:
        return StoryTime(before.day, text)
    rest = _cut_edges(text[: match.start()], text[match.end() :])
    day = match[0].strip()
    return StoryTime(day, rest or (before.time_of_day if day.casefold() == before.day.casefold() else ""))


def _count_day(day: str) -> int | None:
    """Returns which day of the story it is, «day 2», «둘째 날», «사흘째», «the third day»; None for a date."""
    if match := _NUMBER.search(day):
        return int(match[1] or match[2] or match[3])
    word = day.casefold().removeprefix("the ").removesuffix("날").strip()
    if word.endswith(" day"):
        ordinals, word = _ORDINALS.split("|"), word.removesuffix(" day")
        digits = re.match(r"\d+", word)
        return int(digits[0]) if digits else ordinals.index(word) + 1 if word in ordinals else None
    word = word.removesuffix("째").strip()
    if word in _KOREAN_DAYS:
        return _KOREAN_DAYS.index(word) + 1
    return 1 if word == "첫" else parse_number_word(word.removeprefix("day "))


def _names_day(text: str) -> bool:
    """Returns whether words behind «day» are its number: «day two», and not «day breaks»."""
    words = text.casefold().removeprefix("the ").split()
    return words[0] != "day" or words[1].isdecimal() or parse_number_word(words[1]) is not None


def _cut_edges(before: str, behind: str) -> str:
    """Returns what stands around a day."""
    return ", ".join(filter(None, (before.strip(_EDGE), behind.strip(_EDGE))))


__all__ = ["join_times", "read_story_time", "write_time"]
