"""Cutting of texts: what is cut says how much is missing, and no character that a reader sees is cut in two."""

from __future__ import annotations

import re

import regex

_GRAPHEME = regex.compile(r"\X")
FAR = 10_000
"""How far before a cut a text without spaces is read, at most: longer texts would take long."""
LONGEST_GRAPHEME = 64
"""Code points that are looked at beyond a cut; a family emoji has 7, a flag of a region 14."""
_NOTE = re.compile(r"\n… \(([\d,]+) more characters were left out\)\Z")


def cut_text(text: str, limit: int) -> str:
    """Returns the beginning of a text by the rules of ``cut_graphemes``, and how many more code points there were
    before anybody cut the text."""
    earlier = _NOTE.search(text)
    body = text[: earlier.start()] if earlier else text
    if len(body) <= limit:
        return text
    beginning = cut_graphemes(body, limit)
    missing = len(body) - len(beginning) + (int(earlier[1].replace(",", "")) if earlier else 0)
    return f"{beginning}\n… ({missing:,} more characters were left out)"


def cut_to_ends(text: str, limit: int) -> str:
    """Returns beginning and end of a text longer than ``limit`` characters, each half of it, for a model to read."""
    return text if len(text) <= limit else f"{text[: limit // 2]} […] {text[-limit // 2 :]}"


def find_overlap(text: str, word: str) -> int:
    """Returns how many characters at the end of a growing text are the beginning of a word, and not all of it."""
    return next((size for size in range(min(len(word) - 1, len(text)), 0, -1) if text.endswith(word[:size])), 0)


def cut_graphemes(text: str, limit: int) -> str:
    """Returns the beginning of a text, of at most ``limit`` code points: whole characters as a reader sees them, such
    as an emoji of several code points or a letter with its marks (Unicode Standard Annex 29)."""
    if len(text) <= limit:
        return text
    begin = max(text.rfind(" ", 0, limit), text.rfind("\n", 0, limit), limit - FAR, 0)
    ends = (match.end() for match in _GRAPHEME.finditer(text, begin, limit + LONGEST_GRAPHEME))
    return text[: max((end for end in ends if end <= limit), default=begin) or limit]


def cut_graphemes_before(text: str, limit: int) -> str:
    """Returns the end of a text by the rules of ``cut_graphemes``."""
    first = len(text) - limit
    if first <= 0:
        return text
    begin = max(0, first - LONGEST_GRAPHEME)
    starts = (match.start() for match in _GRAPHEME.finditer(text, begin))
    return text[next((start for start in starts if start >= first), first) :]
