"""The items of a list in an answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from bench.everyday.spelling import folded, letters

SAME = 0.9
"""Likeness from which two items count as one."""
_ENUMERATED = re.compile(
    r"^([ \t]*)(?:#+\s*)?(?:\*\*)?(?:\d{1,2}[.)](?!\d)|[①-⑩]|\d\ufe0f?\u20e3)\s*(.+)$", re.MULTILINE
)
_BULLET = re.compile(r"^([ \t]*)[-*•·▪]\s+(.+)$", re.MULTILINE)
_HEADING = re.compile(r"^([ \t]*)(?:#+\s*|\*\*)(.+)$", re.MULTILINE)
_INLINE = re.compile(r"(?:^|\s)\(?\d[.)]\s")
_ORDINAL = re.compile(
    r"(?:첫째|둘째|셋째|넷째|다섯째|마지막으로|(?:첫|두|세|네|다섯)\s?번째)[는은로,:]?\s"
    r"|\b(?:first|second|third|fourth|fifth|finally|lastly)(?:ly)?,\s",
    re.IGNORECASE,
)
_JOINED = re.compile(r"\s*(?:,|、|·|/|\band\b|\bor\b|그리고|또는|(?<=\S)와\s|(?<=\S)과\s|(?<=\S)하고\s|\s및\s)\s*")
_HEAD = re.compile(r"\s*(?:[:：—–]|\s-\s)\s*")
_SMALL = {"the", "and", "for", "with", "your", "that", "this", "from", "are", "you"}


def items(answer: str) -> list[str]:
    """Returns the outermost items of a list: numbered lines, else bullets, headings, «first … second …», or an
    enumeration with commas."""
    for pattern in (_ENUMERATED, _BULLET, _HEADING):
        entries = _outermost(pattern, answer)
        if len(entries) > 1:
            return entries
    for pattern in (_INLINE, _ORDINAL):
        parts = [part.strip() for part in pattern.split(answer)[1:]]
        if len(parts) > 1:
            return parts
    return _with_commas(answer)


def different(found: Sequence[str]) -> int:
    """Returns how many items are no copy of an earlier item."""
    heads: list[str] = []
    for item in found:
        head = letters(named(item))
        if head and not any(SequenceMatcher(None, head, other).ratio() >= SAME for other in heads):
            heads.append(head)
    return len(heads)


def named(item: str) -> str:
    """Returns the name of the item: the bold words, else the words before a colon or dash, else the whole item."""
    bold = re.match(r"\W{0,3}\*\*(.+?)\*\*", item)
    return re.sub(r"[*_`#]", "", bold[1] if bold else _HEAD.split(item)[0]).strip(" :.") or item


def is_about(answer: str, found: Sequence[str], number: int) -> bool:
    """Returns whether the answer is about item ``number`` (from 1; -1: the last): whether it contains a third of the
    words that are in the name of this item and in no other name."""
    index = number - 1 if number > 0 else number
    if not -len(found) <= index < len(found):
        return False
    own_words = _words(named(found[index]))
    other_words = set().union(*(_words(named(item)) for item in found if item is not found[index]))
    distinctive = (own_words - other_words) or own_words
    text = folded(answer)
    return bool(distinctive) and sum(word in text for word in distinctive) * 3 >= len(distinctive)


def _outermost(pattern: re.Pattern[str], answer: str) -> list[str]:
    lines = pattern.findall(answer)
    depth = min((len(indent) for indent, _ in lines), default=0)
    return [text for indent, text in lines if len(indent) == depth]


def _with_commas(answer: str) -> list[str]:
    """Returns the longest enumeration in one sentence. The first and last item keep only as many words as the longest
    item between them has."""
    sentences = re.split(r"(?<=[.!?:])\s|\n", answer)
    parts = max(
        ([part for part in _JOINED.split(sentence) if part.strip()] for sentence in sentences), key=len, default=[]
    )
    if len(parts) < 3:
        return parts
    size = max(len(part.split()) for part in parts[1:-1])
    first, last = parts[0].split()[-size:], parts[-1].split()[:size]
    return [" ".join(first), *parts[1:-1], " ".join(last)]


def _words(text: str) -> set[str]:
    """Returns words without their endings: the first two syllables of Korean words, the first five letters of
    others."""
    words = re.findall(r"[가-힣]+|[^\W\d_가-힣]{3,}|\d+", folded(text))
    return {word[:2] if re.match("[가-힣]", word) else word[:5] for word in words if word not in _SMALL}
