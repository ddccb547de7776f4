"""Whether two texts are the same message: one as it is stored, one as a client sends it back.

Nothing here is a guess of a share: programs cut, frame, trim and restyle texts in ways that can be told from what a
reader or a model writes anew. A changed word that matters makes another text: a name, a number, a negation, any word
that is not the same word spelt or inflected otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Literal

from history.form import ComparableForm, Side, leave_out_blocks, read_form

Likeness = Literal["same", "more", "part", "reworded", "translated", "other"]
"""``same`` words; the sent text holds ``more``, on lines of its own; it is a ``part`` of the stored one, of which a
program left the rest out; it is ``reworded`` without a word that matters; it stands in another script
(``translated``); or it is an ``other`` text."""
MOST_WORDS = 2000
"""Longer texts are compared by equality and by what they hold, not word by word."""
COMMON = 0.7
"""The share of words that a reworded text has in common with the stored one: below, another text is the likelier
cause (``bench habits``)."""
MOST_ORDERED = 500
"""The first words of two texts whose order is compared."""
RUNS = 0.2
"""The share of runs of three words that a text keeps at least when another is made from it."""
LEAST_WORDS = 12
"""Shorter texts share most of their words by chance: «How can I help you today?»"""
STEM = 2
"""Letters that a word keeps at least when its ending changes."""
MAY_COME_AND_GO = frozenset(["the", "a", "an"])
_ENDINGS = (
    "s es d ed ing ly er e y ies ied 은 는 이 가 을 를 에 의 로 와 과 도 만 다 요 고 어 아 여 며 서 지 네 라 니 까 으로"
    " 에서 에게 했다 했어요 한다 해요 하다 합니다 습니다 입니다 이다 어요 아요 었다 았다 던 는데 지만"
)
ENDINGS = frozenset(_ENDINGS.split())
"""What may change at the end of a word: it is the same word, inflected."""
_NEGATIONS = (
    "not no never none nobody nothing neither nor nowhere cannot cant dont doesnt didnt wont wouldnt isnt arent wasnt"
    " werent hasnt havent hadnt couldnt shouldnt without 안 못"
)
NEGATIONS = frozenset(_NEGATIONS.split())
_NEGATED = re.compile(r"않|못|없|아니|말[고아라]")
_END = re.compile(r"[.!?。！？…]['\"”’)\]*_`」』】）]*\s*$")
_NAME = re.compile(r"\b[A-Z][\w’']*")
_HANGUL = re.compile(r"[가-힣]")
_LATIN = re.compile(r"[A-Za-z]")
SCRIPT = 0.7
"""The share of letters by which a text is of a script."""


def compare_messages(sent: str, stored: str, side: Side, *, stopped: bool = False) -> Likeness:
    """Returns how a client's text is like a stored one. ``stopped``: the stored answer was cut off while it came, so
    that its client may have any beginning of it."""
    ours, theirs = read_form(stored), read_form(sent)
    if theirs.flat == ours.flat:
        return "same"
    if theirs.holds(ours):
        return "more"
    if _is_shortened(sent, stored, theirs, ours, side, stopped=stopped):
        return "part"
    if is_translated(sent, stored):
        return "translated"
    return "reworded" if _is_reworded(sent, stored, theirs, ours) else "other"


def is_translated(sent: str, stored: str) -> bool:
    """Returns whether two texts stand in different scripts."""
    one, other = _detect_script(sent), _detect_script(stored)
    return bool(one and other) and one != other


def has_common_words(sent: str, stored: str) -> bool:
    """Returns whether two texts share most of their words in order, so that one was made from the other."""
    was, now = read_form(stored).flat.split()[:MOST_ORDERED], read_form(sent).flat.split()[:MOST_ORDERED]
    if min(len(was), len(now)) < LEAST_WORDS or not _has_common_runs(was, now):
        return False
    matcher = SequenceMatcher(None, was, now, autojunk=False)
    return matcher.quick_ratio() >= COMMON and matcher.ratio() >= COMMON


def has_same_words(sent: str, stored: str) -> bool:
    """Returns whether two texts have the same words, which are so many that no other text has them by chance."""
    now, was = (read_form(text).flat.split() for text in (sent, stored))
    return now == was and len(now) >= LEAST_WORDS


def shares_half(sent: str, stored: str) -> bool:
    """Returns whether half of the words of two texts are common, in whatever order."""
    now, was = (set(read_form(text).flat.split()) for text in (sent, stored))
    return 2 * len(now & was) >= max(len(now), len(was)) > 0


def _has_common_runs(was: Sequence[str], now: Sequence[str]) -> bool:
    """Returns whether a share of the runs of three words is common: a text made from another keeps most of them, and
    they cost a hundredth of a comparison in order."""
    runs, others = (set(zip(words, words[1:], words[2:], strict=False)) for words in (was, now))
    return len(runs & others) >= RUNS * min(len(runs), len(others))


def _detect_script(text: str) -> str:
    hangul, latin = len(_HANGUL.findall(text)), len(_LATIN.findall(text))
    if hangul + latin < 8:
        return ""
    share = hangul / (hangul + latin)
    return "hangul" if share >= SCRIPT else "latin" if share <= 1 - SCRIPT else ""


# --- parts ------------------------------------------------------------------------------------------


def _is_shortened(
    sent: str, stored: str, theirs: ComparableForm, ours: ComparableForm, side: Side, *, stopped: bool
) -> bool:
    """Returns whether a program left out what the sent text lacks: a label, a block, the unfinished end of an answer;
    of a question what it had added on lines of its own."""
    if not theirs.flat:
        return False
    if stopped and _has_beginning(ours.flat, theirs.flat):
        return True
    place = ours.find(theirs)
    if place is not None and (side == "question" or _is_label(ours, place)):
        return True
    if side == "question":
        return False
    if read_form(leave_out_blocks(stored)).flat == theirs.flat:
        return True
    return _is_trimmed(sent, stored, theirs, ours)


def _has_beginning(whole: str, part: str) -> bool:
    return whole.startswith(part)


def _is_label(ours: ComparableForm, place: tuple[int, int]) -> bool:
    """Returns whether all but a first line of the stored text is there, which is a name."""
    first = ours.lines[0]
    return place == (len(first) + 1, len(ours.flat)) and len(first.split()) <= 4


def _is_trimmed(sent: str, stored: str, theirs: ComparableForm, ours: ComparableForm) -> bool:
    """Returns whether only the unfinished last sentence is missing."""
    if not ours.flat.startswith(f"{theirs.flat} ") or _END.search(stored.strip()):
        return False
    rest = ours.flat[len(theirs.flat) :].split()
    tail = re.split(r"[.!?。！？…][\s\"'”’)*_]+|\n", stored.strip())[-1]
    return len(rest) <= len(read_form(tail).flat.split())


# --- words ------------------------------------------------------------------------------------------


def _is_reworded(sent: str, stored: str, theirs: ComparableForm, ours: ComparableForm) -> bool:
    """Returns whether only words changed that do not matter."""
    was, now = ours.flat.split(), theirs.flat.split()
    if not was or not now or max(len(was), len(now)) > MOST_WORDS or min(len(was), len(now)) < 2:
        return False
    if 2 * min(len(was), len(now)) < max(len(was), len(now)):
        return False
    equal = _count_equal(was, now, (sent, stored))
    return equal is not None and 2 * equal / (len(was) + len(now)) >= COMMON


def _count_equal(was: Sequence[str], now: Sequence[str], texts: tuple[str, str]) -> int | None:
    """Returns how many words of two texts are equal, where all others are the same ones otherwise inflected or divided,
    or words without weight; None where any other word changed. Reads both from the front up to there, so that texts
    that have nothing in common cost nothing."""
    names: set[str] | None = None
    one, other, equal = 0, 0, 0
    while one < len(was) and other < len(now):
        if was[one] == now[other]:
            one, other, equal = one + 1, other + 1, equal + 1
        elif (size := _find_divided(was[one:], now[other:])) is not None:
            one, other = one + size[0], other + size[1]
        else:
            names = _find_names(texts) if names is None else names
            both = (was[one], now[other])
            if _is_inflected(*both) and not any(is_telling_word(word, names) for word in both):
                one, other = one + 1, other + 1
            elif was[one] in MAY_COME_AND_GO:
                one += 1
            elif now[other] in MAY_COME_AND_GO:
                other += 1
            else:
                return None
    return equal if MAY_COME_AND_GO.issuperset((*was[one:], *now[other:])) else None


def _find_divided(was: Sequence[str], now: Sequence[str]) -> tuple[int, int] | None:
    """Returns how many words at the front of both are the same letters otherwise divided; None for none."""
    old, new, one, other = was[0], now[0], 1, 1
    while old != new:
        if len(old) < len(new) and new.startswith(old) and one < len(was):
            old, one = old + was[one], one + 1
        elif len(new) < len(old) and old.startswith(new) and other < len(now):
            new, other = new + now[other], other + 1
        else:
            return None
    return one, other


def _find_names(texts: Sequence[str]) -> set[str]:
    names = {name for text in texts for name in _NAME.findall(text)}
    return {word for name in names for word in read_form(name).lines}


def is_telling_word(word: str, names: set[str]) -> bool:
    """Returns whether a text with another word in this place says something else: a number, a name, a negation."""
    is_number = any(char.isdigit() for char in word)
    return is_number or word in NEGATIONS or word in names or _NEGATED.search(word) is not None


def _is_inflected(one: str, other: str) -> bool:
    """Returns whether two words differ in their endings alone."""
    stem = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return stem >= STEM and all(not rest or rest in ENDINGS for rest in (one[stem:], other[stem:]))


__all__ = ["Likeness", "compare_messages", "has_common_words", "is_telling_word", "is_translated"]
