"""Things with how many there are of each, in the forms in which models and people write it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from text.fact.number import build_english_number_pattern, parse_number_word
from world.block.value import extract_inner_name, read_name_values

MOST_COUNT = 1_000_000
_HERE = Path(__file__).parent
_COUNTERS = (_HERE / "counter.txt").read_text("utf-8").split()
"""Words that count things whatever their number is written in."""
_MULTIPLES = {"쌍": 2, "다스": 12}
_ORDERS = frozenset((_HERE / "order.txt").read_text("utf-8").split())
"""Words after a number that say which one or how large a thing is: «3호», «2급», «9 mm pistol»."""
_KNOWN = "|".join(sorted(_COUNTERS, key=len, reverse=True))
_GLUED = "개|병|장|자루|닢|권|마리|송이|그루|조각|묶음|덩이|켤레|골드|냥"
"""Counters that people write behind a number word without a space; others end too many words: «구운 두부»."""
_COINS = "냥|골드|닢|푼|실버|크레딧|코인"
_DIGITS = r"\d{1,3}(?:,\d{3})+|\d{1,6}"
_KOREAN = r"(?:[가-힣]{2,4}|(?![일이삼사오육칠팔구])[가-힣])"
"""A number word; of one syllable none that means something else as often: «이 병»."""
_ONE = "하나|둘|셋|넷|다섯|여섯|일곱|여덟|아홉"
_ALONE = rf"{_ONE}|(?:열|스물|서른|마흔|쉰|예순|일흔|여든|아흔)(?:{_ONE})|스물|서른|마흔|예순|일흔|여든|아흔"
"""Number words that need no counter: «물주머니 하나»."""
_BEFORE = r"[^은는던운진한된의\s]"
"""The end of a name before a number that is none of its own words: «신의 한 수», «검은 두 눈»."""
_ENGLISH = (
    rf"half a dozen|(?:(?:a|{build_english_number_pattern()})[ ])?(?:dozen|pairs?|hundred)(?: of)?"
    rf"|{build_english_number_pattern()}"
)
_WITH_DIGITS = (
    re.compile(rf"(?P<name>.+?)\s*(?:×|\s[xX*])\s*(?P<count>{_DIGITS})"),
    re.compile(rf"(?P<count>{_DIGITS})\s*(?:×|[xX]\s)\s*(?P<name>.+)"),
    re.compile(rf"(?P<name>.+?)\s*\(\s*[×xX]?\s*(?P<count>{_DIGITS})\s*(?P<counter>[가-힣]{{1,2}})?\s*\)"),
    re.compile(rf"(?P<name>.*(?:\s|[가-힣]))(?P<count>{_DIGITS})\s*(?P<counter>{_KNOWN})"),
    re.compile(rf"(?P<name>.*(?:\s|[가-힣]))(?P<count>{_DIGITS})(?P<counter>[가-힣]{{1,2}})"),
    re.compile(rf"(?P<count>{_DIGITS})\s*(?P<counter>[가-힣]{{1,3}})의\s+(?P<name>.+)"),
    re.compile(rf"(?P<count>{_DIGITS})(?P<name>{_KNOWN})"),
    re.compile(rf"(?P<count>{_DIGITS})\s+(?P<name>[^\W\d].*)"),
)
"""Forms with digits. A counter that stands apart from its number must be a known one: «레벨 3 검» is one thing."""
_IN_WORDS = (
    re.compile(rf"(?P<name>.+?)\s*\(\s*(?P<count>{_KOREAN})\s*(?P<counter>{_KNOWN})\s*\)"),
    re.compile(rf"(?P<name>.+)\s(?P<count>{_KOREAN})\s(?P<counter>{_KNOWN})"),
    re.compile(rf"(?P<name>.+)\s(?P<count>(?![일이삼사오육칠팔구십백])[가-힣]{{1,4}})(?P<counter>{_GLUED})"),
    re.compile(rf"(?P<name>.*{_BEFORE})\s(?P<count>{_KOREAN})\s(?P<counter>[가-힣]{{1,2}})"),
    re.compile(rf"(?P<name>.*{_BEFORE})\s(?P<count>{_ALONE})"),
    re.compile(rf"(?P<count>{_KOREAN})\s(?P<counter>{_KNOWN})의\s+(?P<name>.+)"),
    re.compile(rf"(?P<count>{_KOREAN})\s(?P<name>{_COINS})"),
    re.compile(rf"(?P<count>[가-힣]{{2,4}})(?P<name>{_COINS})"),
    re.compile(rf"(?P<count>(?i:{_ENGLISH}))\s+(?P<name>[^\W\d].*)"),
)
"""Forms with number words."""
_SOME = re.compile(
    rf"(?:some|several|many|a few|a couple of)\s+(?P<name>.+)|(?P<other>.+)\s(?:몇|여러)\s?(?:{_KNOWN})", re.IGNORECASE
)
_GROUPS = {"dozen": 12, "pair": 2, "pairs": 2, "hundred": 100}


def read_thing_counts(value: Any) -> list[tuple[str, int | None]]:
    """Returns a list of things with how many of each, None where that is not said: «gold coin ×30», «물약 두 개»,
    ``{potion: 2}``, ``{name: potion, count: 2}``, «a dozen arrows». Raises ``ValueRefusal``."""
    if isinstance(value, Mapping) and value and all(_read_count(one) is not None for one in value.values()):
        value = [f"{key} ×{_read_count(count)}" for key, count in value.items()]
    if isinstance(value, Mapping) and extract_inner_name(value) is not None:
        value = [value]
    if isinstance(value, list):
        value = [_write_thing(one) for one in value]
    return [_split_count(one) for one in read_name_values(value)]


def _read_count(value: Any) -> int | None:
    """Returns a number of things, written as a number or as a text: 2, «2개», «두 병»; None for anything else."""
    if isinstance(value, str):
        name, count = _split_count(f"x {value.strip()}")
        value = count if name == "x" else _parse_count(value.strip())
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < MOST_COUNT else None


def _write_thing(value: Any) -> Any:
    """Returns an object that names a thing and its number as one text."""
    if not isinstance(value, Mapping):
        return value
    name, count = extract_inner_name(value), None
    if len(value) == 1 and name is None:
        ((name, given),) = value.items()
        count = _read_count(given)
    else:
        given = next((value[key] for key in ("count", "quantity", "수량", "개수") if key in value), None)
        count = _read_count(given)
    return value if count is None else f"{name} ×{count}"


def _split_count(text: str) -> tuple[str, int | None]:
    """Returns a thing, and how many of it a text says there are."""
    for form in (*_WITH_DIGITS, *_IN_WORDS):
        match = form.fullmatch(text)
        if match is None or _is_order(match) or (count := _parse_count(match["count"])) is None:
            continue
        count *= _MULTIPLES.get(match.groupdict().get("counter") or "", 1)
        if match["name"].strip() and 0 < count < MOST_COUNT and not _is_title(match):
            return match["name"].strip(), count
    match = _SOME.fullmatch(text)
    return ((match["name"] or match["other"]).strip() if match else text), None


def _parse_count(text: str) -> int | None:
    """Returns the number that digits or words are."""
    plain = text.replace(",", "").lower()
    if plain.isdecimal():
        return int(plain)
    words = plain.removesuffix(" of").split()
    if words[-1:] and (group := _GROUPS.get(words[-1])):
        before = {"": 1, "a": 1, "half a": 0.5}.get(" ".join(words[:-1])) or parse_number_word(" ".join(words[:-1]))
        return int(before * group) if before else None
    return parse_number_word(plain)


def _is_order(match: re.Match[str]) -> bool:
    """Returns whether the number says which one it is, and not how many there are."""
    behind = match.groupdict().get("counter") or ""
    if not behind and not match.start("count"):
        behind = match["name"].split()[0]
    return behind.casefold() in _ORDERS or match["name"].endswith("제")


def _is_title(match: re.Match[str]) -> bool:
    """Returns whether English number words belong to a name: «Seven League Boots», «two of swords»."""
    number, name = match["count"], match["name"]
    if number[0].isdecimal() or not number.isascii():
        return False
    return (number[0].isupper() and name[0].isupper()) or name.startswith("of ")


__all__ = ["MOST_COUNT", "read_thing_counts"]
