"""The consonants that Korean syllables end in."""

from __future__ import annotations

_FIRST, _LAST, _ENDINGS = ord("가"), ord("힣"), 28
NONE, NIEUN, RIEUL, BIEUP, BIEUPSIOT, SSANGSIOT = 0, 4, 8, 17, 18, 20
"""Places among the endings: no consonant, ㄴ, ㄹ, ㅂ, ㅄ, ㅆ."""


def ending(letter: str) -> int | None:
    """The place of the consonant that a syllable ends in; None where the letter is no Korean one."""
    return (ord(letter) - _FIRST) % _ENDINGS if _FIRST <= ord(letter) <= _LAST else None


def syllables(place: int) -> str:
    """All syllables that end so, for a class of letters in a pattern."""
    return "".join(map(chr, range(_FIRST + place, _LAST + 1, _ENDINGS)))


def opened(letter: str) -> str:
    """The syllable without the consonant that it ends in."""
    return chr(ord(letter) - (ending(letter) or 0))
