"""Whether a text contains a form, however the form is spelled.

A form is a spelling (Markdown signs, case and spaces do not count), a number such as ``=695``, or a placeholder of
``bench.everyday.when``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cache

from bench.everyday import when

UNITS = {"억": 10**8, "천만": 10**7, "백만": 10**6, "만": 10**4, "천": 10**3, "백": 10**2, "": 1}
_NUMBER = re.compile(r"(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?(?:\s?(억|천만|백만|만|천|백))?")


@dataclass(frozen=True)
class Span:
    """The begin and the end of a turn. Placeholders stand for a day or time of this span."""

    began: datetime
    ended: datetime


def holds(text: str, form: str, span: Span) -> bool:
    """Returns whether the text contains the form."""
    if form.startswith("="):
        return any(abs(value - float(form[1:])) < 1e-6 for value in values(text))
    placeholder = when.PLACEHOLDER.fullmatch(form)
    if placeholder is None:
        return _pattern(form).search(folded(text)) is not None
    kind, argument = placeholder.groups()
    if kind == "time":
        return when.tells_time(folded(text), argument, span.began, span.ended)
    day = when.day(argument, span.began.date())
    forms = when.day_forms(day) if kind == "date" else when.weekday_forms(day)
    return any(_pattern(day_form).search(folded(text)) for day_form in forms)


def folded(text: str) -> str:
    """Returns the text with one spelling of letters and quotes and without Markdown signs."""
    plain = unicodedata.normalize("NFKC", text).casefold().replace("’", "'").replace("{,}", ",")
    return re.sub(r"[*`“”\"\\]", "", plain)


def letters(text: str) -> str:
    """Returns only the letters and digits of the text, for comparing sentences."""
    return "".join(sign for sign in folded(text) if sign.isalnum())


def values(text: str) -> set[float]:
    """Returns every number in the text; of «125만 3,500» both parts and their sum."""
    return set(_values(folded(text)))


def _values(text: str) -> Iterator[float]:
    total, unit, end = 0.0, 0, -1
    for match in _NUMBER.finditer(text):
        size = UNITS[match[3] or ""]
        value = round(float(match[1].replace(",", "") + (match[2] or "")) * size, 6)
        follows = size < unit and not text[end : match.start()].strip()
        total, unit, end = (total + value if follows else value), size, match.end()
        yield value
        yield total


@cache
def _pattern(form: str) -> re.Pattern[str]:
    """Returns a pattern that does not match inside a longer number or a longer Latin word, except in a plural or
    possessive."""
    parts = folded(form).split()
    first, last = parts[0][0], parts[-1][-1]
    before = r"(?<!\d)(?<!\d[.,:])" if first.isdigit() else r"(?<![a-z])" if _is_latin(first) else ""
    after = r"(?!\d)(?![.,:]\d)" if last.isdigit() else r"(?:'?e?s)?(?![a-z])" if _is_latin(last) else ""
    return re.compile(before + r"\s*".join(map(re.escape, parts)) + after)


def _is_latin(sign: str) -> bool:
    return sign.isalpha() and sign < "ɐ"
