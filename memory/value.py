"""The values of a sentence: facts that belong together, which of them are told as old, which as a step or a part."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest

from text import fact, number
from text.name import TITLE

CUE = re.compile(
    r"바뀌|바뀐|바뀜|바꿨|바꾸|바꿔|바꿀|변경|올랐|올라|올리|올려|인상|늘었|늘어|늘려|늘리|줄었|줄어|줄여|줄이|내렸|내려|떨어|미뤘|미뤄|미루|밀렸|연기"
    r"|당겼|당겨|앞당|정정|수정|이제는|옮겼|옮겨|옮기|교체|조정|지연"
    r"|\b(?:rose|risen|raised?|increas|decreas|dropped|fell|cut to|chang|moved|postpon|resched|instead|no longer|now"
    r"|actually|correct|updat|revis|went (?:up|down|from)|goes up"
    r"|switch|delayed|became|lowered|reduced|push(?:ed)? (?:back|to))",
    re.IGNORECASE,
)
"""A sentence with one of these says that something changed."""
_OLD_BEFORE = re.compile(
    r"(?:\bfrom|\binstead of|\brather than|\bnot|n['’]t|\bused to be|\bwas|\bpreviously|\bformerly"
    r"|원래|기존|전에는|이전|당초)"
    r"(?:\s(?:the|on|at))?\s\W?$",
    re.IGNORECASE,
)
_OLD_AFTER = re.compile(
    rf"(?:\s?(?:{TITLE}|씨|님)님?)?\s?(?:원|명|개|일)?(?:에서\s|이었|였|이던|(?:이|가)?\s?아니|말고|대신)"
)
_NOT_BEFORE = re.compile(r"(?:\bnot|n['’]t|\bno longer)\s(?:(?:the|on|at|in)\s){0,2}$", re.IGNORECASE)
_NOT_AFTER = re.compile(r"\s?(?:이|가)?\s?아니")
_TO = re.compile(r"에서\s.+(?:으로|로),$")
_WAS = re.compile(r"\bwas\s\W?$|\bwas\s(?:the|on|at)\s$", re.IGNORECASE)
_STEP_BEFORE = re.compile(
    r"\b(?:by|another|extra|additional|further|lost|gained)\s(?:(?:about|around|just)\s)?$", re.IGNORECASE
)
_STEP_AFTER = re.compile(
    r"\s?(?:정도|쯤|가량)?(?:이|을|를|만|씩|만큼|이나|나)?\s?(?:더|덜)?\s?"
    r"(?:늘|줄|올[랐라려리]|내[렸려]|인상|인하|미[뤘뤄루]|밀렸|당[겼겨]|앞당|증가|감소|추가|남[았아은]|썼|쓰|써|부족|모자|초과|넘|깎|할인"
    r"|빠[졌져]|[쪘쪄]|떨어)|도\s|에\s?끝"
    r"|\s(?:short|over|left|more|less|extra|cheaper|off|too|behind|early|late|ahead|higher|lower"
    r"|of (?:it|the|that|them|this|my|our))\b",
    re.IGNORECASE,
)
_RANGE = re.compile(r"\s?(?:[~–-]|부터)\s?|\s(?:to|until|through)\s", re.IGNORECASE)
_HEAD = 8
_HOUSE = re.compile(r"(?<![\w.,:/-])\d{1,5}[A-Za-z]?\s$")
_LOWER = re.compile(r"(?<![\w.,:/-])\d{1,4}\s?[~–-]\s?$")
"""What belongs to a value though it is no fact: the number of 4 Elm Road, the 2 of 2–3 people."""
_FROM = re.compile(r"\bfrom\s(?:the\s)?$", re.IGNORECASE)
_PER = re.compile(
    r"\s?(?:an?|per|every|each|/)\s?(?:(?P<day>day)|(?P<week>week)|(?P<month>month)|(?P<year>year))\b", re.I
)
_PER_BEFORE = re.compile(
    r"(?:^|\s)(?:(?P<day>하루|매일)|(?P<week>매주|일주일|주)|(?P<month>매달|매월|한 달|월)|(?P<year>매년|일 년|1년|연))"
    r"(?:에|당)?\s$"
)
_TOGETHER = tuple(
    frozenset(units.split())
    for units in ("year month week night day hour minute second", "km m cm mm", "kg g", "l ml", "inch foot")
)


@dataclass(frozen=True, slots=True)
class Value:
    """One value as written at ``start`` … ``end``: a fact, or several that are one («2박 3일», «12 Baker Street»)."""

    text: str
    start: int
    end: int
    facts: tuple[fact.Fact, ...]

    @property
    def first(self) -> fact.Fact:
        return self.facts[0]

    @property
    def is_name(self) -> bool:
        return self.first.kind == "name"


@lru_cache(maxsize=2048)
def values(text: str) -> tuple[Value, ...]:
    """The values of a text in reading order."""
    groups: list[list[fact.Fact]] = []
    for each in fact.facts(text):
        if groups and _joined(text, groups[-1][-1], each):
            groups[-1].append(each)
        else:
            groups.append([each])
    found = [_value(text, group) for group in groups]
    return tuple(one for one, other in zip_longest(found, found[1:]) if other is None or one.end <= other.start)


def _value(text: str, group: Sequence[fact.Fact]) -> Value:
    start, end = group[0].start, group[-1].end
    head = (_HOUSE if group[0].kind == "name" else _LOWER).search(text[max(0, start - _HEAD) : start])
    start -= len(head.group()) if head else 0
    return Value(text[start:end].strip(), start, end, tuple(sorted(group, key=lambda each: each.kind != "name")))


def _joined(text: str, one: fact.Fact, other: fact.Fact) -> bool:
    between = text[one.end : other.start]
    if _RANGE.fullmatch(between):
        return _alike(one, other) and not _FROM.search(text[: one.start])
    if between == " " and other.kind == "name" and len(one.text) < _HEAD:
        return _bare(one) is not None
    units = {each.value.unit for each in (one, other) if isinstance(each.value, number.Number)}
    return between in ("", " ") and len(units) == 2 and any(units <= family for family in _TOGETHER)


def current(said: str, told: Sequence[Value]) -> Value | None:
    """The value that the sentence gives: none that it marks as old, and no step («10만 원 올랐어») or part."""
    new = [each for each in told if not is_old(said, each)]
    if new:
        return next((each for each in new if not is_step(said, each)), None)
    past = [each for each in told if is_past(said, each)]
    return past[0] if past else None


def is_past(said: str, each: Value) -> bool:
    """Told as what was."""
    return bool(_WAS.search(said[: each.start]) or re.match("이었|였", said[each.end :]))


def is_old(said: str, each: Value) -> bool:
    """Marked as the old value; «from A» and «A에서» only where the sentence says that something changed."""
    before, after = _OLD_BEFORE.search(said[: each.start]), _OLD_AFTER.match(said[each.end :])
    range_only = bool(before and before.group().strip().startswith("from")) or bool(after and "에서" in after.group())
    return bool(before or after) and (not range_only or bool(CUE.search(said) or _TO.search(said)))


def is_denied(said: str, each: Value) -> bool:
    """Told as what is not so: «not on May 3», «5월 3일이 아니야»."""
    return bool(_NOT_BEFORE.search(said[: each.start]) or _NOT_AFTER.match(said[each.end :]))


def is_step(said: str, each: Value) -> bool:
    """By how much something changed, or how much of it is left or gone: not how much it is."""
    return bool(_STEP_BEFORE.search(said[: each.start]) or _STEP_AFTER.match(said[each.end :]))


def rate(said: str, each: Value) -> str | None:
    """For how long a value counts, where the sentence says so: a day, week, month or year."""
    match = _PER.match(said[each.end :]) or _PER_BEFORE.search(said[max(0, each.start - _HEAD) : each.start])
    return match.lastgroup if match else None


def comparable(one: Value, other: Value) -> bool:
    """Whether two values are of one kind, numbers of one unit."""
    return _alike(one.first, other.first)


def _bare(one: fact.Fact) -> re.Match[str] | None:
    """A number without a unit, in parts or with a letter: 12, 12A, 12-34."""
    return re.fullmatch(r"\d+(?:-\d+)*[A-Za-z]?", one.text)


def _alike(one: fact.Fact, other: fact.Fact) -> bool:
    if {one.kind, other.kind} == {"number", "identifier"}:
        return _bare(one) is not None and _bare(other) is not None
    if one.kind != other.kind or one.kind in ("url", "email"):
        return False
    if isinstance(one.value, number.Number) and isinstance(other.value, number.Number):
        return one.value.unit == other.value.unit or not one.value.unit or not other.value.unit
    return True


def exchangeable(one: str, other: str) -> bool:
    """Whether one text may stand in another's place: for each value one of its kind, or words and names for words."""
    ones, others = values(one), values(other)
    if all(each.is_name for each in (*ones, *others)):
        return True
    return bool(ones) and all(any(comparable(each, its) for its in others) for each in ones)


def same(one: str, other: str) -> bool:
    """Whether two texts are one value, however written."""
    if one.strip().casefold() == other.strip().casefold():
        return True
    ones, others = fact.facts(one), fact.facts(other)
    kinds = len(ones) == len(others) > 0 and all(map(_alike, ones, others))
    return kinds and not any(map(_respelled, ones, others)) and all(fact.holds(one, each) for each in others)


def _respelled(one: fact.Fact, other: fact.Fact) -> bool:
    """Two names of as many words, of which «holds» would take one for the other: Ana Lopez, Anna Lopez."""
    names = (str(one.value).split(), str(other.value).split())
    return one.kind == "name" and names[0] != names[1] and len(names[0]) == len(names[1])


def lacks_unit(new: str, old: str) -> bool:
    """Whether a new value is a number without the unit that the old one has: how many of what is not clear."""
    units = {each.value.unit for each in fact.facts(old) if isinstance(each.value, number.Number)}
    return bool(re.fullmatch(r"[\d,.]+", new.strip())) and bool(units - {""})


def whole(value: str) -> re.Pattern[str]:
    """The value where it stands as a whole: no digits or letters around it; a Korean one may have a particle after."""
    after = r"(?![A-Za-z0-9])" if re.search(r"[A-Za-z]$", value) else r"(?![A-Za-z\d]|[,.-]\d)"
    return re.compile(rf"(?<![가-힣A-Za-z0-9])(?<!\d[,.-]){re.escape(value)}{after}")


def tells(text: str, value: str) -> bool:
    """Whether a text has a value, as a whole: «$500» does not tell «$50»."""
    return any(same(each.text, value) for each in values(text)) or bool(whole(value).search(text))
