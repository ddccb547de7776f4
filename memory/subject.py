"""What a text is about: its content words, and what tells one thing from another of the same name."""

from __future__ import annotations

import re
from functools import lru_cache

MARK = re.compile(
    r"\d+(?:차|월|년|분기|호|팀|번|학년|반|층|주차|일차|단계|회차)?(?![\d.,])|(?<![A-Za-z])[A-Z](?=[가-힣])|(?<=[A-Za-z]\s)[A-HJ-Z](?![A-Za-z])"
    r"|(?<![가-힣])[첫두세네큰새](?=\s)"
)
"""What tells one of several things of a name from the others: 1월, 2차, A팀, room B."""
SHORT = frozenset("집차방약돈옷책개밥물술땅키몸눈팀꿈표짐빵꽃폰앱딸배빚상값")
"""Nouns of one letter that people have and keep."""
_LONGER = "차이 차도 차로 방과 방도 방의 약도 물가 물의 술의 배로 배가 표의 상도 상의 상이 눈가 개의 키로 몸의"
_NOT_SHORT = frozenset(_LONGER.split())
"""Words that only look like one of them with a particle."""
_WORD = re.compile(rf"[가-힣]{{2,}}|(?<![가-힣])[{''.join(SHORT)}](?![가-힣])|[A-Za-z]{{3,}}")
_ENDING = re.compile(
    r"(?:이었습니다|였습니다|이었어요|였어요|이었어|였어|입니다|이에요|예요|이야|으로|에서|까지|부터|에게|한테|이다|라고|은|는|이|가|을|를|의|에|로|도|만"
    r"|과|와|야|요)$"
)
_NOISE_WORDS = """
사용자 우리 저희 이번 그거 지금 다시 오늘 내일 어제 이제 원래 그리고 그런데 하지만 것으로
user assistant the and our that this was has have had from with for its are will now new said says
"""
_NOISE = frozenset(_NOISE_WORDS.split())
_MEASURES_WORDS = """
값 가격 금액 비용 요금 날짜 시간 시각 용량 견적 번호 price cost costs amount date time dose quote fee value number
"""
_MEASURES = frozenset(_MEASURES_WORDS.split())
"""Words that say what of a thing is told: «the dose of the pill» is about the pill."""
_OTHERS = re.compile(
    r"\b(?!user['’])\w+['’]s\b|\b(?:his|her|their)\b|친구|동생|형|오빠|누나|언니|엄마|아빠|어머니|아버지|아내|남편|아들|딸|부모|동료|팀장"
)
"""Another person's."""


@lru_cache(maxsize=2048)
def words(text: str) -> frozenset[str]:
    """The content words of a text, Korean ones without their particles."""
    return frozenset(content(text))


@lru_cache(maxsize=2048)
def labels(text: str) -> frozenset[str]:
    """The numbers and letters of a text that tell one of several things of a name from the others."""
    return frozenset(MARK.findall(text))


@lru_cache(maxsize=2048)
def subject(key: str) -> frozenset[str]:
    """The words of a subject and its labels, without words that only say what of it is told."""
    found = words(key)
    return (found - _MEASURES or found) | labels(key)


def others(text: str) -> frozenset[str]:
    """Whose it is, where it is not the user's own."""
    return frozenset(each.casefold() for each in _OTHERS.findall(text))


def content(text: str) -> list[str]:
    """The content words in their order, Korean ones without their particles."""
    found = (_stem(word.casefold()) for word in _WORD.findall(text))
    return [word for word in found if (len(word) > 1 or word in SHORT) and word not in _NOISE]


def head(key: str) -> str:
    """The last word that is no measure."""
    plain = content(key)
    return next((word for word in reversed(plain) if word not in _MEASURES), plain[-1] if plain else "")


def _stem(word: str) -> str:
    """Without particle and ending, and without what makes a date of a thing: 출발일을, 출발은."""
    short = _ENDING.sub("", word)
    short = short if len(short) > 1 or (short in SHORT and word not in _NOT_SHORT) else word
    return re.sub(r"(?<=[가-힣]{2})(?:일|날)$", "", short)
