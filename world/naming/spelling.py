"""When two names mean the same: what differs in case, article, spaces, particles or a remark in brackets."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from text.fold import fold_text
from text.hangul import is_particles

_ARTICLE = re.compile(r"^(?:the|an?)\s+", re.IGNORECASE)
_REMARK = re.compile(r"\s*[(（\[][^()（）\[\]]*[)）\]]\s*$")


@lru_cache(maxsize=16384)
def reduce_name(name: str) -> str:
    """Returns a name without case, article and spaces."""
    return "".join(_ARTICLE.sub("", fold_text(name.strip())).split())


def without_remark(name: str) -> str:
    """Returns a name without what stands in brackets at its end: «Dark Forest (north)»."""
    return _REMARK.sub("", name) or name


def find_remark(name: str) -> str:
    """Returns what stands in brackets at the end of a name; empty for nothing."""
    match = _REMARK.search(name)
    return match[0].strip()[1:-1].strip() if match else ""


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


def straighten_name(name: str, text: str, known: Iterable[str] = ()) -> str:
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


__all__ = [
    "find_remark",
    "find_spelling",
    "is_bent",
    "reduce_name",
    "straighten_name",
    "without_remark",
    "words_of",
]
