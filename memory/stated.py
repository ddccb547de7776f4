"""What a sentence says of what: «여행 예산은 120만 원이야», «the school play is on October 17».

Read from the form of the sentence alone. What is not surely a subject with its value is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from text import fact, number

_KOREAN = re.compile(r"(?P<key>[가-힣A-Za-z0-9·][가-힣A-Za-z0-9· ]*?)(?:은|는|이|가|을|를)\s")
_BECAME = (
    r"rose to|(?:went|goes|gone|is) up to|dropped to|fell to|increased to|decreased to|lowered to|raised to|cut to"
    r"|changed to|moved to|shifted to|postponed to|rescheduled to|(?:pushed|moved) back to|brought forward to"
)
_ENGLISH = re.compile(
    r"(?:^|[,;:]\s|\bthat\s|\band\s|\bbut\s)(?:(?:my|our|the|his|her|its|their)\s)?"
    r"(?P<key>[a-z][a-z’'-]*(?:\s[a-z’'-]+){0,3}?)\s"
    rf"(?:(?:is|are|was|were|has been|have been|will be)(?:\s(?:now|actually|{_BECAME}))?|costs?|{_BECAME})\s",
    re.IGNORECASE,
)
_MOVED = re.compile(
    r"\b(?:moved?|changed?|raised?|lowered|increased?|decreased?|cut|postponed?|rescheduled?|pushed|updated?|corrected?)\s"
    r"(?:back\s)?(?:(?:my|our|the|his|her|its|their)\s)?(?P<key>[a-z][a-z’'-]*(?:\s[a-z’'-]+){0,3}?)(?:,|\s(?:back\s)?(?:to|from)\b)",
    re.IGNORECASE,
)
_COPULA = re.compile(r"(?P<value>[가-힣A-Za-z0-9]{2,12}?)(?:이야|야|이에요|예요|입니다|이다)[.!]?$")
_CHOSEN = re.compile(
    r"(?P<value>[가-힣A-Za-z0-9]{2,20}?)(?:으로|로) (?:정했|정하|정한|예약|골랐|고르|선택|결정|하기로)"
)
_NAMED = re.compile(r"(?P<value>[가-힣A-Za-z0-9]{2,12}?)(?:으로|로)\s(?:바뀌|바뀐|바꿨|바꾸|변경|교체)")
_BOUND = re.compile(r"(?:은|는|이|가|을|를|에|에서|으로|로|하고|해서|인데|지만|만|도)$")
_PLACE = re.compile(r"(?:에|에서|에게|으로|까지|부터)$")
_NO_KEY_WORDS = """
나 내 저 제 우리 저희 너 그 이 저것 이것 그것 이거 그거 여기 거기 오늘 내일 어제 이번 지금 이제 다음 처음 나중 마지막
사람 것 수 때 i we you he she it they this that there here what who which one these those
"""
_NO_KEY = frozenset(_NO_KEY_WORDS.split())
_WORDS, _LETTERS = 3, 28
_LISTED = re.compile(r"(?P<key>[^:\n]{2,28}):\s(?P<value>.+)")
LABELS = frozenset(("사용자", "user", "ai"))
"""Who speaks: never the name of a value."""
_SHORT = frozenset("집차방약돈옷책개밥물술땅키몸눈팀꿈표짐빵꽃폰앱딸배빚상값")
"""Nouns of one letter that people have and keep."""
_LONGER = "차이 차도 차로 방과 방도 방의 약도 물가 물의 술의 배로 배가 표의 상도 상의 상이 눈가 개의 키로 몸의"
_NOT_SHORT = frozenset(_LONGER.split())
"""Words that only look like one of them with a particle."""
_WORD = re.compile(rf"[가-힣]{{2,}}|(?<![가-힣])[{''.join(_SHORT)}](?![가-힣])|[A-Za-z]{{3,}}")
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
    r"\w+['’]s\b|\b(?:his|her|their)\b|친구|동생|형|오빠|누나|언니|엄마|아빠|어머니|아버지|아내|남편|아들|딸|부모|동료|팀장"
)
"""Another person's."""


@dataclass(frozen=True, slots=True)
class Statement:
    """``subject``: what it is about; ``value``: as written; ``fact``: the same as a fact, where it is one by form.

    ``listed``: a name with its value, as entities are; ``direct``: nothing but the verb stands between the two.
    """

    subject: str
    value: str
    fact: fact.Fact | None = None
    listed: bool = False
    direct: bool = True


def stated(sentences: Iterable[str]) -> list[tuple[str, str]]:
    """Subjects and values, in the order of the sentences; of one subject the last."""
    found: dict[str, str] = {}
    for each in sentences:
        said = statement(each)
        if said is not None:
            found.pop(said.subject, None)
            found[said.subject] = said.value
    return list(found.items())


@lru_cache(maxsize=512)
def statement(sentence: str) -> Statement | None:
    """What the sentence says of its subject; None when it is no such sentence."""
    said = sentence.strip()
    return _entity(said) or _english(said) or _korean(said)


def contradicted(said: str, sentences: Iterable[str]) -> bool:
    """Whether the sentences tell of the subject of what is said, and none of them this value."""
    new = statement(said)
    if new is None or new.fact is None:
        return False
    told = [old for old in map(statement, sentences) if old and agree(old, new, told=True)]
    return bool(told) and not any(fact.holds(old.value, new.fact) for old in told)


def words(text: str) -> frozenset[str]:
    """The content words of a text, Korean ones without their particles."""
    return frozenset(_content(text))


def subject(key: str) -> frozenset[str]:
    """The words of a subject, without those that only say what of it is told."""
    found = words(key)
    return found - _MEASURES or found


def others(text: str) -> frozenset[str]:
    """Whose it is, where it is not the user's own."""
    return frozenset(each.casefold() for each in _OTHERS.findall(text))


def agree(old: Statement, new: Statement, told: bool = False) -> bool:
    """Whether two statements have the same subject.

    When a change is ``told`` («rose to»), also where one says it in fewer words with the same last one: the new one, or
    the name of an entity.
    """
    before, after = subject(old.subject), subject(new.subject)
    if not before or not after or others(old.subject) != others(new.subject):
        return False
    if before == after:
        return True
    fewer = after < before or (old.listed and before < after)
    return told and fewer and _head(old.subject) == _head(new.subject)


def _content(text: str) -> list[str]:
    found = (_stem(word.casefold()) for word in _WORD.findall(text))
    return [word for word in found if (len(word) > 1 or word in _SHORT) and word not in _NOISE]


def _head(key: str) -> str:
    """The last word that is no measure."""
    plain = _content(key)
    return next((word for word in reversed(plain) if word not in _MEASURES), plain[-1] if plain else "")


def _stem(word: str) -> str:
    """Without particle and ending, and without what makes a date of a thing: 출발일을, 출발은."""
    short = _ENDING.sub("", word)
    short = short if len(short) > 1 or (short in _SHORT and word not in _NOT_SHORT) else word
    return re.sub(r"(?<=[가-힣]{2})(?:일|날)$", "", short)


def _entity(said: str) -> Statement | None:
    match = _LISTED.fullmatch(said)
    if match is None or match["key"].strip().casefold() in LABELS:
        return None
    values = fact.facts(match["value"])
    known = values[0] if len(values) == 1 and values[0].text == match["value"].strip() else None
    return Statement(match["key"].strip(), match["value"].strip(), known, True)


def _english(said: str) -> Statement | None:
    for match in (_ENGLISH.search(said), _MOVED.search(said)):
        if match:
            found = _named(said, match, [each for each in fact.facts(said) if each.start >= match.end("key")])
            if found:
                return found
    return None


def _korean(said: str) -> Statement | None:
    values = fact.facts(said)
    for match in reversed([*_KOREAN.finditer(said)]):
        key, rest = _last_words(said[: match.end("key")]), said[match.end() :]
        later = [each for each in values if each.start >= match.end()]
        chosen = _CHOSEN.search(rest)
        if later and not (chosen and all(each.kind == "name" for each in later)):
            return _named(said, match, later, key)
        plain = chosen or _COPULA.match(rest) or _NAMED.search(rest)
        if plain and _usable(key):
            return Statement(key, plain["value"])
    return None


def _named(said: str, match: re.Match[str], values: Sequence[fact.Fact], noun: str = "") -> Statement | None:
    """With the first value; after a «one» the last number («1인당 119,600원»)."""
    key = noun or match["key"]
    if not values or not _usable(key):
        return None
    direct = len(said[match.end() : values[0].start].split()) <= 1
    first = values[0]
    if isinstance(first.value, number.Number):
        other = [
            each for each in values if isinstance(each.value, number.Number) and each.value.unit != first.value.unit
        ]
        first = other[-1] if other and first.value.value == 1 else first
    return Statement(key, first.text, first, direct=direct)


def _last_words(text: str) -> str:
    """The noun at the end of a text: up to three words, none before the last with a particle or an ending."""
    words = text.split()
    taken = words[-1:]
    for word in reversed(words[:-1]):
        if len(taken) == _WORDS or _BOUND.search(word):
            break
        taken.insert(0, word)
    while len(taken) > 1 and taken[0].casefold() in _NO_KEY:
        taken.pop(0)
    return " ".join(taken)


def _usable(key: str) -> bool:
    return 1 < len(key) <= _LETTERS and key.casefold() not in _NO_KEY and not _PLACE.search(key)
