"""The final consonants of Korean syllables, and the particles that depend on them."""

from __future__ import annotations

import re

_FIRST, _LAST, _ENDINGS = ord("가"), ord("힣"), 28
NONE, NIEUN, RIEUL, BIEUP, BIEUPSIOT, SSANGSIOT = 0, 4, 8, 17, 18, 20
"""Indexes of final consonants: no consonant, ㄴ, ㄹ, ㅂ, ㅄ, ㅆ."""


def ending(letter: str) -> int | None:
    """Returns the index of a syllable's final consonant; None when the letter is not a Korean syllable."""
    return (ord(letter) - _FIRST) % _ENDINGS if _FIRST <= ord(letter) <= _LAST else None


def syllables(place: int) -> str:
    """Returns all syllables with the final consonant at index ``place``, for a class of letters in a pattern."""
    return "".join(map(chr, range(_FIRST + place, _LAST + 1, _ENDINGS)))


def opened(letter: str) -> str:
    """Returns the syllable without its final consonant."""
    return chr(ord(letter) - (ending(letter) or 0))


_FORMS = {"이(가)": ("이", "가"), "은(는)": ("은", "는"), "을(를)": ("을", "를"), "(으)로": ("으로", "로")}
_DIGITS = dict(zip("0123456789", "영일이삼사오육칠팔구", strict=True))
_BOTH = re.compile(rf"([가-힣0-9])(['\"’”»)`*]*)({'|'.join(map(re.escape, _FORMS))})")


def particles(text: str) -> str:
    """Returns the text with the particle that fits the word before it: «사실이(가)» → «사실이», «M2(으)로» → «M2로».

    Both forms stay after other letters, whose sound the letters do not tell.
    """

    def fitting(match: re.Match[str]) -> str:
        letter, signs, both = match.groups()
        final = ending(_DIGITS.get(letter, letter))
        closed, opened_ = _FORMS[both]
        takes_closed = final != NONE and not (both == "(으)로" and final == RIEUL)
        return f"{letter}{signs}{closed if takes_closed else opened_}"

    return _BOTH.sub(fitting, text)
