"""The final consonants of Korean syllables, and the particles that depend on them."""

from __future__ import annotations

import re

_FIRST, _LAST, _ENDINGS = ord("가"), ord("힣"), 28
NONE, NIEUN, RIEUL, BIEUP, BIEUPSIOT, SSANGSIOT = 0, 4, 8, 17, 18, 20
"""Indexes of final consonants: no consonant, ㄴ, ㄹ, ㅂ, ㅄ, ㅆ."""


def find_final_consonant(letter: str) -> int | None:
    """Returns the index of a syllable's final consonant; None when the letter is not a Korean syllable."""
    return (ord(letter) - _FIRST) % _ENDINGS if _FIRST <= ord(letter) <= _LAST else None


def list_ending_syllables(place: int) -> str:
    """Returns all syllables with the final consonant at index ``place``, for a class of letters in a pattern."""
    return "".join(map(chr, range(_FIRST + place, _LAST + 1, _ENDINGS)))


_FORMS = {"이(가)": ("이", "가"), "은(는)": ("은", "는"), "을(를)": ("을", "를"), "(으)로": ("으로", "로")}
_FORMS |= dict.fromkeys(("과(와)", "와(과)"), ("과", "와"))
_DIGITS = dict(zip("0123456789", "영일이삼사오육칠팔구", strict=True))
_BOTH = re.compile(rf"([가-힣0-9])(['\"’”»)`*]*)({'|'.join(map(re.escape, _FORMS))})")


_AFTER_NAME = re.compile(
    r"(?:들|님|씨|군|양){0,2}"
    r"(?:이라고|라고|이라는|라는|이라도|라도|이라면|라면|이라|라|이란|란|이랑|랑|이나|나|이며|며|이고|고|이든|든|이여|여|이지만|지만|이지|지|"
    r"에게서|에게|에서|에|한테서|한테|께서|께|으로서|로서|으로써|로써|으로|로|까지|부터|처럼|같이|보다|마다|밖에|조차|마저|대로|커녕|하고|"
    r"이었다|였다|이었|였|입니다|인데|인가|이에요|예요|이야|이다|이|가|은|는|을|를|의|와|과|도|만|뿐|인|야|아|요|다){0,3}"
)
"""Particles and forms of the copula that follow a name without a space, up to three of them."""


def is_particles(text: str) -> bool:
    """Returns whether Korean letters behind a name are particles only: «크룩에게는» names «크룩», «검사» no «검»."""
    return _AFTER_NAME.fullmatch(text) is not None


def fit_particles(text: str) -> str:
    """Returns the text with the particle that fits the word before it: «사실이(가)» → «사실이», «M2(으)로» → «M2로».

    Both forms stay after other letters, whose sound the letters do not tell.
    """

    def fitting(match: re.Match[str]) -> str:
        letter, signs, both = match.groups()
        final = find_final_consonant(_DIGITS.get(letter, letter))
        closed, opened_ = _FORMS[both]
        takes_closed = final != NONE and not (both == "(으)로" and final == RIEUL)
        return f"{letter}{signs}{closed if takes_closed else opened_}"

    return _BOTH.sub(fitting, text)
