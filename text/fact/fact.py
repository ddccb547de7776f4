"""Facts that a summary must not lose: numbers, amounts, dates, times, names, identifiers, addresses (design 5.3).

This module finds facts by their form, without a model. Precision comes before recall: a false fact costs a needless
repair.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from text.date import when
from text.fact import name, number
from text.fold import fold_text
from text.text_cache import cache_texts

Kind = Literal["url", "email", "identifier", "date", "time", "number", "name"]
_Value = when.Day | when.Clock | number.Number | str

_URL = re.compile(r"(?:https?://|www\.)[^\s<>\"'`)\]}」』》가-힣]+[^\s<>\"'`)\]}」』》가-힣.,;:!?]")
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+", re.ASCII)
_PLATE = "가나다라마거너더러머버서어저고노로모보소오누두루무수우아바사자하허육해공국합"
"""Letters of Korean licence plates that are not units."""
_IDENTIFIER = re.compile(
    r"(?<![\w.\x1f-])(?:"
    r"(?=[\w-]*\d{2})(?=[\w-]*[A-Z])[A-Z][A-Za-z0-9]*(?:[-_][A-Za-z0-9]+)+"  # ORD-2024-17
    r"|[A-Z]{1,5}\d{2,}[A-Z0-9]*"  # KE701, B204
    r"|[A-Z]{2,}[-_]?\d+"  # GPT-4, MX5
    r"|v\d+(?:\.\d+)+"  # v2.1.0
    r"|\d+\.\d+\.\d+(?:\.\d+)*"  # 2.1.0
    r"|\d{2,}(?:-\d{2,}){2,4}|1\d{3}-\d{4}"  # telephone, account
    r"|\+\d{1,3}(?:[ -]\d{1,4}){2,4}|\(\d{2,4}\)\s?\d{3,4}-\d{4}"
    r"|\d{4}(?: \d{4}){3}"  # card
    r"|(?<![:,/$€£¥₩+*^=])(?:"
    rf"(?!\d+(?:{number.UNIT}|[KMB]\b))(?:\d{{2,5}}[A-Z]{{1,2}}|\d[A-CEFHJ]|\d{{2,3}}[a-cef])"  # seat 12A
    rf"|(?!(?:19|20)\d\d-(?:19|20)?\d\d\b)\d{{2,}}-\d+(?![:.,/]?\d|\)?[*+/^=]|\s?{number.UNIT})"  # 555-1234
    r"|\d(?:-\d{2,}){2,4}"  # 1-800-555-1234
    rf"|\d{{2,3}}[{_PLATE}]\s?\d{{4}}|\d{{1,4}}동\s?\d{{1,5}}호"
    r"))(?![A-Za-z0-9]|-\d)"
)
_ENDS = re.compile(r"(\d{1,4})-(\d{1,4})")
SHORT_FORM = 6
"""Maximum number of words in a short form of a name that is looked for in longer names."""
_LETTERS = frozenset(string.ascii_lowercase + string.digits)


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact at its place in the text (character offsets); comparisons use ``value``."""

    kind: Kind
    text: str
    start: int
    end: int
    value: _Value


@cache_texts(512)
def find_facts(text: str) -> tuple[Fact, ...]:
    """Returns the facts of a text in reading order, each value once, at its first place."""
    finds = sorted(_find_all_facts(text, loose=False), key=lambda item: item.start)
    words = [fact for fact in finds if isinstance(fact.value, str)]
    buckets: dict[object, list[Fact]] = {"words": _drop_short_forms(words)}
    for fact in (item for item in finds if not isinstance(item.value, str)):
        known = buckets.setdefault(_build_fact_key(fact), [])
        if not any(_is_covered_fact(item, fact) for item in known):
            known[:] = [item for item in known if not _is_covered_fact(fact, item)] + [fact]
    return tuple(sorted((fact for known in buckets.values() for fact in known), key=lambda item: item.start))


def list_lost_facts(original: str, summary: str) -> tuple[str, ...]:
    """Returns the facts of the original, as written there, whose values the summary lacks.

    ``1,200,000``, ``1200000`` and ``120만`` are one value, as are ``3월 5일`` and ``03-05``, ``오후 7시`` and
    ``19:00``, half and full width, upper and lower case.
    """
    return tuple(fact.text for fact in find_facts(original) if not has_fact_value(summary, fact))


def has_fact_value(text: str, fact: Fact) -> bool:
    """Returns whether a text holds a fact's value."""
    if isinstance(fact.value, str):
        return _folded_holds(fact.kind, fact.value, text) or _holds_ends(fact.value, text)
    return any(_is_same_value(fact.value, other) for other in _index_loose_values(text).get(_build_fact_key(fact), ()))


def _build_fact_key(fact: Fact) -> object:
    """Returns the key that two equal facts must share: a number's value, any other fact's kind."""
    return fact.value.value if isinstance(fact.value, number.Number) else fact.kind


def _is_same_value(value: _Value, other: _Value) -> bool:
    if isinstance(value, when.Day) and isinstance(other, when.Day):
        return value.same(other)
    if isinstance(value, when.Clock) and isinstance(other, when.Clock):
        return value.same(other)
    return isinstance(value, number.Number) and isinstance(other, number.Number) and value.same(other)


def _is_covered_fact(known: Fact, fact: Fact) -> bool:
    """Returns whether ``fact`` adds nothing to ``known``: ``fact`` has the same value, or less of it."""
    return known.kind == fact.kind and _is_same_value(fact.value, known.value)


def _drop_short_forms(found: list[Fact]) -> list[Fact]:
    """Returns the facts in words, each once, without the shorter forms of others («Sarah» beside «Sarah Kim»)."""
    words = [(fact.kind, *str(fact.value).split()) for fact in found]
    parts = {
        (kind, *form[at : at + size])
        for kind, *form in dict.fromkeys(words)
        for size in range(1, min(len(form), SHORT_FORM + 1))
        for at in range(len(form) - size + 1)
    }
    first = dict(zip(reversed(words), reversed(found), strict=True))
    return [fact for form, fact in first.items() if form not in parts]


def _folded_holds(kind: Kind, value: str, text: str) -> bool:
    folded = _fold_fact_text(text)
    if kind != "name":
        return value in folded
    if _word_in(value, folded):
        return True
    parts = value.split()  # half the words of a longer name are enough: "Sarah" for "Sarah Kim"
    plain = unicodedata.normalize("NFKC", text)
    count = sum(
        bool(re.search(rf"\b{re.escape(part)}", plain, re.IGNORECASE)) and part.title() in plain for part in parts
    )
    return len(parts) > 1 and 2 * count >= len(parts)


def _holds_ends(value: str, text: str) -> bool:
    """Returns whether a text holds both numbers of a possible range or date: «20 to 30» holds 20-30."""
    ends = _ENDS.fullmatch(value)
    return ends is not None and all(Decimal(end).normalize() in _index_loose_values(text) for end in ends.groups())


def _word_in(value: str, folded: str) -> bool:
    if not value.isascii():
        return value.replace(" ", "") in folded.replace(" ", "")
    at = folded.find(value)  # a pattern per value would be compiled at every call
    while at >= 0:
        before, after = folded[at - 1 : at], folded[at + len(value) : at + len(value) + 1]
        if not _LETTERS & {before, after}:
            return True
        at = folded.find(value, at + 1)
    return False


@cache_texts(1024)
def _fold_fact_text(text: str) -> str:
    return fold_text(text)


@cache_texts(2048)
def _index_loose_values(text: str) -> dict[object, list[_Value]]:
    """Returns all values of a summary that may stand for a fact, generously, by bucket."""
    finds = [*_find_all_facts(text, loose=True)]
    for day in [fact.value for fact in finds if isinstance(fact.value, when.Day)]:
        for value, unit in ((day.year, ""), (day.month, "month"), (day.day, "day")):
            if value is not None:
                finds.append(Fact("number", "", 0, 0, number.Number(0, 0, Decimal(value), unit)))
    finds += [Fact("date", "", day.start, day.end, day) for day in when.find_short_dates(_narrow_characters(text))]
    index: dict[object, list[_Value]] = {}
    for fact in finds:
        index.setdefault(_build_fact_key(fact), []).append(fact.value)
    return index


def _find_all_facts(text: str, *, loose: bool) -> Iterator[Fact]:
    """Yields all facts; blanks the text of every find, so that later kinds do not find the same text."""
    left = _narrow_characters(text)
    for kind, finder in _list_fact_finders(loose):
        pieces, last = list[str](), 0
        for start, end, value in sorted(finder(left), key=lambda span: (span[0], -span[1])):
            if start >= last:
                yield Fact(kind, text[start:end].strip(), start, end, value)
                pieces += left[last:start], "\x1f" * (end - start)
                last = end
        left = "".join((*pieces, left[last:]))


def _narrow_characters(text: str) -> str:
    """Returns the text with half-width for full-width characters, one for one, so that offsets stay."""
    return text if text.isascii() else text.translate(_NARROWED)


class _Narrowed(dict[int, int]):
    """A table for ``str.translate`` that computes every character on its first use."""

    def __missing__(self, letter: int) -> int:
        wide = unicodedata.normalize("NFKC", chr(letter))
        return self.setdefault(letter, ord(wide) if len(wide) == 1 else letter)


_NARROWED = _Narrowed()
_Found = Iterator[tuple[int, int, _Value]]


def _list_fact_finders(loose: bool) -> Iterator[tuple[Kind, Callable[[str], _Found]]]:
    yield "url", lambda text: _find_pattern_matches(_URL, text, _fold_address)
    yield "email", lambda text: _find_pattern_matches(_EMAIL, text, _fold_fact_text)
    yield "date", lambda text: ((day.start, day.end, day) for day in when.find_day_mentions(text))
    yield "identifier", lambda text: _find_pattern_matches(_IDENTIFIER, text, _fold_fact_text)
    yield "time", lambda text: ((time.start, time.end, time) for time in when.find_clock_times(text, loose=loose))
    yield "number", lambda text: ((item.start, item.end, item) for item in _find_fact_numbers(text, loose))
    if not loose:
        yield (
            "name",
            lambda text: ((item.start, item.end, _fold_fact_text(item.text)) for item in name.find_names(text)),
        )


def _find_fact_numbers(text: str, loose: bool) -> Iterator[number.Number]:
    yield from (candidate for candidate in number.find_numbers(text) if loose or candidate.telling)
    if loose:
        yield from number.find_spelled_numbers(text)


def _fold_address(url: str) -> str:
    return _fold_fact_text(url).removeprefix("https://").removeprefix("http://").removeprefix("www.").rstrip("/")


def _find_pattern_matches(pattern: re.Pattern[str], text: str, value: Callable[[str], str]) -> _Found:
    return ((match.start(), match.end(), value(match.group())) for match in pattern.finditer(text))
