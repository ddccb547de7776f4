"""When two names mean one person: a name is what somebody is (titles, trades) and what only this one is called."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from text.fact.name import SURNAME, TITLE
from text.fold import fold_text
from text.hangul import is_particles
from world.naming.spelling import reduce_name, words_of

Likeness = Literal["same", "sole", "unclear", "other"]
"""``sole``: one person where nobody else is called so, «Rowan» and «Rowan Hale», «the Captain» and «Captain Vane»."""


def _read_words(file: str) -> frozenset[str]:
    return frozenset((Path(__file__).parent / "role" / f"{file}.txt").read_text("utf-8").split())


_OFFICES = _read_words("office")
"""What one person is at a time: a king, a captain."""
_TRADES = _read_words("trade") | set(TITLE.split("|"))
"""What one person is in a place: an innkeeper, a smith."""
_TITLES = _read_words("title") | _OFFICES | set(TITLE.split("|"))
"""What stands beside a name and is none: in front of it, in Korean also behind it."""
_ONES = _OFFICES | _TRADES
_ROLES = _TITLES | _TRADES | _read_words("many") | {"꾼", "장이", "쟁이", "지기"}
_PREPOSITIONS = frozenset(("of", "at", "in", "with", "by", "from", "on", "behind", "under"))
_NEW = r"\b(?:an?|another|some|any|other|second|new) (?:new |young |old )?{name}\b"
_NEW += r"|(?:^|\s)(?:한|어떤|다른|웬|낯선|새) {name}|{name}(?:이?라는|이?라고 하는)\s"
_NO_NAME = rf"\b(?:the|this|that|my|your|his|her|their|our) {{name}}\b|{_NEW}"


@dataclass(frozen=True, slots=True)
class PersonName:
    """The words of a name in the form in which they are compared. ``role``: what somebody is, «goblin king»; ``own``:
    what only this one is called, «krug»; empty in «the old merchant»."""

    role: tuple[str, ...]
    own: tuple[str, ...]

    @property
    def titles(self) -> frozenset[str]:
        """Returns the words of the role that can tell two people apart: Korean words of politeness cannot."""
        return frozenset(word for word in self.role if not is_particles(word))


@lru_cache(maxsize=16384)
def parse_person(name: str) -> PersonName:
    """Returns what of a name says what somebody is, and what of it is a name."""
    words, behind = tuple(map(_drop_politeness, words_of(name))), tuple[str, ...]()
    for at, word in enumerate(words[1:], 1):
        if word in _PREPOSITIONS and _is_role(words[at - 1]):  # «the captain of the guard», «the girl by the well»
            return PersonName(words, ())
    if "the" in words[1:-1] and _is_role(words[-1]):  # «Mira the Navigator»
        at = words.index("the", 1)
        words, behind = words[:at], words[at + 1 :]
    elif len(words) > 1 and _is_hangul_word(words[-1]) and not any(map(_is_role, words[:-1])) and words[-2][-1] != "의":
        behind = words[-1:] if _is_role(words[-1], _TITLES) else ()  # «리나 공주», and no «숲의 왕»
        words = words[: len(words) - len(behind)]
    start = max((at for at, word in enumerate(words, 1) if _is_role(word)), default=0)
    return PersonName((*words[:start], *behind), words[start:])


def _drop_politeness(word: str) -> str:
    """Returns «팀장» for «팀장님»."""
    return word[:-1] if word.endswith("님") and _is_role(word[:-1]) else word


def _is_hangul_word(word: str) -> bool:
    return "가" <= word[-1] <= "힣"


def _is_role(word: str, of: frozenset[str] = _ROLES) -> bool:
    """Returns whether a word says what somebody is. A longer Korean one ends with it: «고블린왕», «약초상인»; those of
    one syllable end too many words."""
    return word in of or word.endswith(_find_endings(of))


@lru_cache(maxsize=8)
def _find_endings(words: frozenset[str]) -> tuple[str, ...]:
    return tuple(word for word in words if _is_hangul_word(word) and (len(word) > 1 or word in "왕꾼"))


def compare_people(one: str, other: str) -> Likeness:
    """Returns whether two names mean one person.

    With the same own name they do, where one's role says no less than the other's: «조리» and «항해사 조리», and not
    «Lord Stark» and «Lady Stark». A first name, an office or a trade means the one who bears it. Anything else that one
    name has of the other may be somebody else: «상인» and «약초 상인», «어머니» and «리나의 어머니», «Hale» and «Rowan
    Hale».
    """
    if reduce_name(one) == reduce_name(other):
        return "same"
    a, b = parse_person(one), parse_person(other)
    if a.own and b.own:
        return _compare_own(a, b)
    if a.role and a.role == b.role and _is_role(a.role[-1], _ONES):
        return "sole"
    return "unclear" if _is_name_part(words_of(one), words_of(other)) else "other"


def _compare_own(a: PersonName, b: PersonName) -> Likeness:
    fitting = a.titles <= b.titles or b.titles <= a.titles
    if a.own == b.own:
        return "same" if fitting else "other" if a.titles | b.titles <= _TITLES else "unclear"
    short, long = sorted((a.own, b.own), key=lambda words: (len(words), sum(map(len, words))))
    if fitting and (short == long[: len(short)] or _is_given_name(short, long)):
        return "sole"
    return "unclear" if _is_name_part(short, long) else "other"


def cut_given_name(word: str) -> str:
    """Returns a Korean word without the family name that it may begin with, «민수» of «김민수»; else the word."""
    return word[1:] if len(word) == 3 and word[0] in SURNAME else word


def is_cut_name(name: str, other: str) -> bool:
    """Returns whether one of two names is the other without what may be a family name, «민수» and «김민수»: also
    «리엘» and «우리엘», who are two."""
    a, b = parse_person(name).own, parse_person(other).own
    return a != b and bool(a and b) and (_is_given_name(a, b) or _is_given_name(b, a))


def _is_given_name(short: tuple[str, ...], long: tuple[str, ...]) -> bool:
    return short == tuple(map(cut_given_name, long))


def _is_name_part(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Returns whether the shorter one of two names begins or ends the longer one."""
    short, long = sorted((one, other), key=len)
    return bool(short) and len(short) < len(long) and short in (long[: len(short)], long[-len(short) :])


def are_two(one: str, other: str) -> bool:
    """Returns whether two names cannot both be one person's though they have a word in common: «Lord Stark» and «Lady
    Stark», «Rowan Hale» and «Rowan Vale»."""
    a, b = parse_person(one), parse_person(other)
    if a.own == b.own or _is_name_part(a.own, b.own):
        return bool(a.own) and not (a.titles <= b.titles or b.titles <= a.titles)
    return not {*a.own[:1], *a.own[-1:]}.isdisjoint(b.own)


def is_role_only(name: str) -> bool:
    """Returns whether a name says only what somebody is."""
    return not parse_person(name).own


def is_office(name: str) -> bool:
    """Returns whether a name says only what one person is at a time, wherever he may be: «the Goblin King»."""
    found = parse_person(name)
    return not found.own and bool(found.role) and _is_role(found.role[-1], _OFFICES)


def is_introduced(name: str, text: str) -> bool:
    """Returns whether a text speaks of somebody as of one who is not known yet, «a captain», «다른 상인»; or as of no
    person's name, «the raven»."""
    words = re.escape(" ".join(words_of(name)))
    form = _NEW if is_role_only(name) else _NO_NAME
    return re.search(form.format(name=words), fold_text(text)) is not None


def is_said(name: str, text: str) -> bool:
    """Returns whether a text says a name, or of a name of several words the first or last one that is no title."""
    said = reduce_name(text)
    if reduce_name(name) in said:
        return True
    own = [word for word in words_of(name) if word not in _TITLES]
    return len(words_of(name)) > 1 and any(len(word) > 1 and word in said for word in (own[:1] + own[-1:]))


__all__ = [
    "Likeness",
    "are_two",
    "compare_people",
    "cut_given_name",
    "is_cut_name",
    "is_introduced",
    "is_office",
    "is_role_only",
    "is_said",
    "parse_person",
]
