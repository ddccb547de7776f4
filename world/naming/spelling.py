"""When two names mean the same: what differs in case, article, spaces, particles, titles or a remark in brackets."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Literal

from text.fold import fold_text
from text.hangul import is_particles
from text.name import TITLE

Likeness = Literal["same", "unclear", "other"]
_ARTICLE = re.compile(r"^(?:the|an?)\s+", re.IGNORECASE)
_REMARK = re.compile(r"\s*[(（\[][^()（）\[\]]*[)）\]]\s*$")
_TITLES = frozenset(Path(__file__).with_name("title.txt").read_text("utf-8").split()) | set(TITLE.split("|"))
"""Words that stand beside a name and are none: in front of it, in Korean also behind it."""
_PARTS = ("of", "the", "de", "von", "van", "la", "le")
_FEW_KOREAN = "한|어떤|다른|또 다른|두|세|네|몇|여러|모든"
_FEW = r"(?:an?|another|some|other|two|three|four|five|many|every|each)"


@lru_cache(maxsize=16384)
def reduce_name(name: str) -> str:
    """Returns a name without case, article and spaces."""
    return "".join(_ARTICLE.sub("", fold_text(name.strip())).split())


def without_remark(name: str) -> str:
    """Returns a name without what stands in brackets at its end: «Dark Forest (north)»."""
    return _REMARK.sub("", name) or name


def is_bent(name: str, known: str) -> bool:
    """Returns whether a name is a known one with Korean particles: «에르겐은»."""
    tail = name.removeprefix(known)
    return 1 < len(known) < len(name) and tail != name and not tail.startswith("들") and is_particles(tail)


def find_spelling(name: str, known: Iterable[str]) -> str:
    """Returns the known name that a name is but for case, article, spaces and particles; the name itself where none
    is."""
    names = list(known)
    if name in names:
        return name
    wanted = reduce_name(name)
    same = (one for one in names if reduce_name(one) == wanted)
    bent = (one for one in sorted(names, key=len, reverse=True) if is_bent(wanted, reduce_name(one)))
    return next(same, None) or next(bent, None) or name


def straighten(name: str, text: str, known: Iterable[str] = ()) -> str:
    """Returns a new name without the particles that a model has copied with it, where the text has it without them,
    too: «에르겐은» where it also says «에르겐이». Of one syllable only ``known`` names are left."""
    short = {one for one in known if len(one) == 1}
    for end in range(len(name) - 1, 0, -1):
        stem, tail = name[:end], name[end:]
        if (end == 1 and stem not in short) or not is_particles(tail):
            continue
        if re.search(rf"{re.escape(stem)}(?!{re.escape(tail)})", text):
            return stem
    return name


def words_of(name: str) -> tuple[str, ...]:
    """Returns the words of a name in the form in which they are compared."""
    return tuple(_ARTICLE.sub("", fold_text(without_remark(name).strip())).split())


def compare_people(one: str, other: str, text: str = "") -> Likeness:
    """Returns whether two names mean one person. ``text``: where the shorter one stands, which shows whether it is a
    name or a word for many: «Krug» and «a guard».

    Of two names one of which has more words, the shorter one is the same person when only titles are left of the
    other, when it is the end of a Korean name («대장장이 리나»), or when the text uses it as a name.
    """
    if reduce_name(one) == reduce_name(other):
        return "same"
    short, long = sorted((one, other), key=lambda name: len(words_of(name)))
    a, b = words_of(short), words_of(long)
    if not a or len(a) == len(b) or a not in (b[: len(a)], b[-len(a) :]):
        return "other"
    behind = b[: len(a)] == a
    rest = b[len(a) :] if behind else b[: -len(a)]
    if _TITLES.issuperset(a):
        return "unclear"
    korean = "가" <= a[-1][-1] <= "힣"
    if _TITLES.issuperset(rest):
        return "same" if korean or not behind else "unclear"
    if korean:
        return "unclear" if behind or _is_general_in_korean(short, text) else "same"
    return "same" if _is_used_as_name(short, text) else "unclear"


def _is_general_in_korean(name: str, text: str) -> bool:
    """Returns whether a text uses a word for many: «한 궁수», «궁수들»."""
    word = re.escape(without_remark(name).strip())
    return re.search(rf"(?:^|[^가-힣])(?:{_FEW_KOREAN})\s+{word}|{word}들", text) is not None


def _is_used_as_name(name: str, text: str) -> bool:
    """Returns whether a name has capitals and the text, if there is one, uses it, and nowhere as a word for many: in
    small letters, behind «a» or a number; one word also behind «the»."""
    plain = _ARTICLE.sub("", without_remark(name).strip())
    parts = plain.split()
    if any(part[0].islower() and part not in _PARTS for part in parts):
        return False
    phrase = r"\s+".join(map(re.escape, parts))
    determiner = _FEW if len(parts) > 1 else rf"(?:the|{_FEW})"
    general = re.search(rf"\b{determiner}\s+{phrase}\b", f"{name}\n{text}", re.IGNORECASE)
    lower = re.search(rf"\b{phrase.lower()}\b", text) if phrase.lower() != phrase else None
    used = not text.strip() or re.search(rf"\b{phrase}\b", text) is not None
    return used and general is None and lower is None


def is_said(name: str, text: str) -> bool:
    """Returns whether a text says a name, or of a name of several words the first or last one that is no title."""
    said = reduce_name(text)
    if reduce_name(name) in said:
        return True
    own = [word for word in words_of(name) if word not in _TITLES]
    return len(words_of(name)) > 1 and any(len(word) > 1 and word in said for word in (own[:1] + own[-1:]))


__all__ = [
    "Likeness",
    "compare_people",
    "find_spelling",
    "is_bent",
    "is_said",
    "reduce_name",
    "straighten",
    "without_remark",
    "words_of",
]
