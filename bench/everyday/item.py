"""The items of a list in an answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from bench.everyday.spelling import folded, letters

SAME = 0.9
"""So alike, two items are one."""
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
    """The items, outermost ones only: numbered lines, bullets, headings, «first … second …», or words with commas."""
    for pattern in (_ENUMERATED, _BULLET, _HEADING):
        found = _outermost(pattern, answer)
        if len(found) > 1:
            return found
    for pattern in (_INLINE, _ORDINAL):
        parts = [part.strip() for part in pattern.split(answer)[1:]]
        if len(parts) > 1:
            return parts
    return _with_commas(answer)


def different(found: Sequence[str]) -> int:
    """How many of the items are not another one again."""
    heads: list[str] = []
    for each in found:
        head = letters(named(each))
        if head and not any(SequenceMatcher(None, head, other).ratio() >= SAME for other in heads):
            heads.append(head)
    return len(heads)


def named(item: str) -> str:
    """What the item is called: the bold words, or those before a colon or dash, or all of it."""
    bold = re.match(r"\W{0,3}\*\*(.+?)\*\*", item)
    return re.sub(r"[*_`#]", "", bold[1] if bold else _HEAD.split(item)[0]).strip(" :.") or item


def is_about(answer: str, found: Sequence[str], number: int) -> bool:
    """Whether the answer speaks of item ``number`` (from 1, -1: the last): a third of the words that name it, and no
    other item, are in the answer."""
    index = number - 1 if number > 0 else number
    if not -len(found) <= index < len(found):
        return False
    own = _words(named(found[index]))
    others = set().union(*(_words(named(each)) for each in found if each is not found[index]))
    wanted = (own - others) or own
    text = folded(answer)
    return bool(wanted) and sum(word in text for word in wanted) * 3 >= len(wanted)


def _outermost(pattern: re.Pattern[str], answer: str) -> list[str]:
    lines = pattern.findall(answer)
    depth = min((len(before) for before, _ in lines), default=0)
    return [text for before, text in lines if len(before) == depth]


def _with_commas(answer: str) -> list[str]:
    """The longest enumeration in one sentence; of its ends only as many words as the items between them have."""
    sentences = re.split(r"(?<=[.!?:])\s|\n", answer)
    parts = max(([part for part in _JOINED.split(each) if part.strip()] for each in sentences), key=len, default=[])
    if len(parts) < 3:
        return parts
    size = max(len(part.split()) for part in parts[1:-1])
    first, last = parts[0].split()[-size:], parts[-1].split()[:size]
    return [" ".join(first), *parts[1:-1], " ".join(last)]


def _words(text: str) -> set[str]:
    """Words without their endings: of Korean ones the first two syllables, of Latin ones the first five letters."""
    found = re.findall(r"[가-힣]+|[^\W\d_가-힣]{3,}|\d+", folded(text))
    return {word[:2] if re.match("[가-힣]", word) else word[:5] for word in found if word not in _SMALL}
