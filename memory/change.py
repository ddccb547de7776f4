"""When a value has changed: which old value gives way to which new one (copilot-rag.md §3.5).

Two signs, both by form: an entity gets another value, or the user says that something changed (rose, moved, instead …)
and an earlier sentence about the same thing has a fact of the same kind and unit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from text import fact, number, sentence

_CUE = re.compile(
    r"바뀌|바뀐|바꿨|바꾸|바꿔|변경|올랐|올라|오른|인상|늘었|늘어|늘려|늘리|줄었|줄어|줄여|줄이|내렸|내려|떨어|미뤘|미뤄|미루|밀렸|연기"
    r"|당겼|당겨|앞당|대신|정정|수정|아니라|이제는|옮겼|옮겨|옮기|교체|조정|확정"
    r"|\b(?:rose|risen|raised?|increas|decreas|dropped|fell|cut to|chang|moved|postpon|resched|instead|no longer|now"
    r"|actually|correct|updat|revis|went (?:up|down)|switch|became|lowered|reduced|push(?:ed)? (?:back|to))",
    re.IGNORECASE,
)
_FROM_TO = re.compile(
    r"([가-힣A-Za-z]+)에서 ([가-힣A-Za-z]+?)(?:으로|로)(?![가-힣])|\bfrom ([A-Za-z]+) to ([A-Za-z]+)", re.IGNORECASE
)
_WORD = re.compile(r"[가-힣]{2,}|[A-Za-z]{3,}")
_ENDING = re.compile(
    r"(?:이었습니다|였습니다|이었어요|였어요|이었어|였어|입니다|이에요|예요|이야|으로|에서|까지|부터|에게|한테|이다|라고|은|는|이|가|을|를|의|에|로|도|만|과|와|야|요)$"
)
_NOISE_WORDS = """
사용자 우리 저희 이번 그거 지금 다시 오늘 내일 어제 이제 원래 그리고 그런데 하지만 것으로
user assistant the and our that this was has have had from with for its are will now new said says
"""
_NOISE = frozenset(_NOISE_WORDS.split())


@dataclass(frozen=True, slots=True)
class Change:
    """``old`` and ``new`` as written; ``about``: words of the sentence that says so."""

    old: str
    new: str
    about: frozenset[str]


def words(text: str) -> frozenset[str]:
    """The content words of a text, Korean ones without their particles."""
    found = (_stem(word.casefold()) for word in _WORD.findall(text))
    return frozenset(word for word in found if len(word) > 1 and word not in _NOISE)


def said(before: Sequence[str], statements: Sequence[str]) -> list[Change]:
    """The changes that the statements say, against earlier sentences (``before``) and earlier statements."""
    found: list[Change] = []
    for index, statement in enumerate(statements):
        if _CUE.search(statement):
            found += _against([*before, *statements[:index]], statement)
            found += [_pair(match, statement) for match in _FROM_TO.finditer(statement)]
    return found


def _pair(match: re.Match[str], statement: str) -> Change:
    """«From A to B», of words that are no values by their form."""
    old, new = (part for part in match.groups() if part)
    return Change(old, new, words(statement))


def replaced(old: str, new: str, statements: Iterable[str]) -> Change:
    """The change of an entity's value; it is about what the statement with the new value is about."""
    sources = [words(each) for each in statements if new in each]
    return Change(old, new, frozenset().union(*sources))


def apply(line: str, changes: Sequence[Change]) -> str:
    """The line with new values where it held old ones of the same subject; a line that has both stays as it is."""
    for change in changes:
        if change.new in line or not words(line) & change.about:
            continue
        line = _swap(line, change)
    return line


def outdated(fact_text: str, changes: Iterable[Change]) -> bool:
    """Whether this value was replaced."""
    return any(_same(fact_text, change.old) for change in changes)


def _against(earlier: Sequence[str], statement: str) -> list[Change]:
    about, facts = words(statement), fact.facts(statement)
    found = []
    for new in _new_values(statement, facts):
        named = [each for each in facts if each is not new and _comparable(each, new)]
        if named:
            found += [Change(each.text, new.text, about) for each in named]
        elif new.kind != "name" and (old := _earlier(earlier, new, about)):
            found.append(Change(old.text, new.text, about))
    return found


def _earlier(earlier: Sequence[str], new: fact.Fact, about: frozenset[str]) -> fact.Fact | None:
    """The value that the new one follows: in the sentence that is most about the same, next to a word they share."""
    for line in sorted(reversed([*earlier]), key=lambda each: -len(words(each) & about)):  # noqa: C414 (stable)
        shared = words(line) & about
        olds = [each for each in fact.facts(line) if _comparable(each, new)]
        if shared and olds:
            places = [line.casefold().find(word) for word in shared]
            return min(olds, key=lambda each: min(abs(each.start - place) for place in places))
    return None


def _new_values(statement: str, facts: Sequence[fact.Fact]) -> list[fact.Fact]:
    """Of facts that could stand for one another the last («from A to B»), or the one after «to» or before «(으)로»."""
    chosen: list[fact.Fact] = []
    for each in facts:
        rivals = [other for other in chosen if _comparable(other, each)]
        if not rivals:
            chosen.append(each)
        elif not _leads_to(statement, rivals[0]) or _leads_to(statement, each):
            chosen = [other for other in chosen if other not in rivals] + [each]
    return chosen


def _leads_to(statement: str, each: fact.Fact) -> bool:
    return bool(
        re.match(r"\s?(?:원|명|개|일)?(?:으로|로)", statement[each.end :])
        or re.search(r"\bto\s+\W?$", statement[: each.start])
    )


def _comparable(one: fact.Fact, other: fact.Fact) -> bool:
    if one.kind != other.kind or one.kind in ("url", "email"):
        return False
    if isinstance(one.value, number.Number) and isinstance(other.value, number.Number):
        return one.value.unit == other.value.unit or not one.value.unit or not other.value.unit
    return True


def _swap(line: str, change: Change) -> str:
    if change.old in line and not re.search(rf"[\d,.]{re.escape(change.old)}|{re.escape(change.old)}\d", line):
        return line.replace(change.old, change.new)
    for each in reversed(fact.facts(line)):
        if _same(each.text, change.old):
            line = line[: each.start] + change.new + line[each.end :]
    return line


def _same(one: str, other: str) -> bool:
    if one.strip().casefold() == other.strip().casefold():
        return True
    facts = fact.facts(other)
    return len(facts) == 1 and fact.holds(one, facts[0]) and len(fact.facts(one)) == 1


def _stem(word: str) -> str:
    short = _ENDING.sub("", word)
    return short if len(short) > 1 else word


def statements(text: str) -> list[str]:
    """The sentences of a text that state something."""
    return [each for each in sentence.split(text) if not each.rstrip().endswith(("?", "？"))]
