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
_TITLE_ENDS = tuple(title for title in _TITLES if "가" <= title[0] <= "힣" and (len(title) > 1 or title == "왕"))
"""Korean titles that also end a longer one: «고블린왕», «대주교». The others of one syllable end too many words."""


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


def compare_people(one: str, other: str) -> Likeness:
    """Returns whether two names mean one person.

    Of two names one of which has more words, the shorter one is the same person only when titles are left of the
    other: «Vane» and «Captain Vane». Anything else may be somebody else — «상인» and «약초 상인», «어머니» and «리나의
    어머니», «Rowan» and «Rowan Hale» — and the user is asked.
    """
    if reduce_name(one) == reduce_name(other):
        return "same"
    a, b = sorted((words_of(one), words_of(other)), key=len)
    if not a or len(a) == len(b) or a not in (b[: len(a)], b[-len(a) :]):
        return "other"
    behind = b[: len(a)] == a
    rest = b[len(a) :] if behind else b[: -len(a)]
    if all(map(_is_title, a)) or not all(map(_is_title, rest)):
        return "unclear"
    korean = "가" <= a[-1][-1] <= "힣"
    return "same" if korean or not behind else "unclear"


def _is_title(word: str) -> bool:
    return word in _TITLES or word.endswith(_TITLE_ENDS)


def have_different_titles(one: str, other: str) -> bool:
    """Returns whether two names of the same person by their words cannot both be theirs: «Lord Stark», «Lady Stark».
    Korean words of politeness («씨», «님») are no title."""
    a, b = ({word for word in words_of(name) if not is_particles(word)} for name in (one, other))
    return not (a <= b or b <= a)


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
    "have_different_titles",
    "is_bent",
    "is_said",
    "reduce_name",
    "straighten",
    "without_remark",
    "words_of",
]
