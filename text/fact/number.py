"""Numbers in Korean and English text, with their unit or currency, as comparable values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache

from text.clean import collapse_spaces

_SCALE = {"십": 10, "백": 100, "천": 1000, "만": 10**4, "억": 10**8, "조": 10**12}
_ENGLISH_SCALE = {
    "thousand": 10**3,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
    "k": 10**3,
    "m": 10**6,
    "bn": 10**9,
    "b": 10**9,
}
_CURRENCY = {"$": "usd", "₩": "krw", "€": "eur", "£": "gbp", "¥": "jpy"}
_UNITS = {
    "%": "% 퍼센트 프로 percent pct",
    "krw": "원 won krw",
    "usd": "달러 불 dollars dollar usd bucks",
    "eur": "유로 euros euro eur",
    "jpy": "엔 yen jpy",
    "cny": "위안 yuan cny",
    "gbp": "파운드 gbp",
    "minute": "분 minutes minute mins min",
    "hour": "시간 hours hour hrs hr",
    "second": "초 seconds second secs sec",
    "day": "일간 일 days day",
    "night": "박 nights night",
    "week": "주일 주간 주 weeks week",
    "month": "개월 달 months month",
    "year": "년간 년 years year",
    "person": "명 인분 인 사람 people persons person guests guest adults attendees users customers employees",
    "times": "회 번 차례 times",
    "piece": "개 pieces piece items item units unit",
    "copy": "권 부 copies copy",
    "sheet": "장 sheets sheet tickets ticket",
    "case": "건 cases case",
    "cup": "잔 cups cup",
    "bottle": "병 bottles bottle",
    "seat": "자리 석 seats seat",
    "machine": "대",
    "animal": "마리",
    "floor": "층",
    "line": "호선",
    "house": "호",
    "age": "살 세",
    "point": "점 points point",
    "rank": "위 등",
    "page": "쪽 페이지 pages page",
    "step": "단계 steps step",
    "fold": "배",
    "area": "평",
    "degree": "도 °c ℃ °f ° degrees degree celsius",
    "km": "km 킬로미터 킬로 kilometers kilometres",
    "mile": "miles mile",
    "m": "미터 meters metres",
    "cm": "cm 센티미터 센티",
    "mm": "mm 밀리미터",
    "kg": "kg 킬로그램 kilograms kilos",
    "g": "그램 grams g",
    "mg": "mg",
    "l": "리터 liters litres",
    "ml": "ml 밀리리터",
    "kcal": "kcal 칼로리 calories",
    "gb": "gb 기가바이트 기가",
    "mb": "mb",
    "tb": "tb",
    "kb": "kb",
    "ms": "ms 밀리초",
    "w": "와트 watts",
    "kwh": "kwh",
    "ghz": "ghz",
    "inch": "인치 inches inch",
}
_UNIT = {word: unit for unit, words in _UNITS.items() for word in words.split()}
_WORDS = "|".join(re.escape(word) for word in sorted(_UNIT, key=len, reverse=True))
_WORDS = re.sub(r"\|세\b", r"|(?<!\\s)세", _WORDS).replace("|인|", "|인(?![데가지])|")  # "35 세 분", "3.11인데"

_COUNTED = _WORDS.replace("|번|", "|").replace("|호|", "|")
UNIT = rf"(?:[억만천백]|(?i:{_COUNTED}|thousand|million|k|시|월|년|[ap]m)(?![A-Za-z]))"
"""Pattern of a word after a number that says how much or how many. Leaves out 번 and 호, which also follow numbers in
labels.
"""

_DIGITS = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
_PATTERN = re.compile(
    rf"(?:(?<![\w.,*/^+-])|(?<=\d-))(?P<currency>[$₩€£¥])?\s?"
    rf"(?P<body>(?:(?:{_DIGITS})(?:조(?=\s?[원달\d])|[억만천백십]{{1,2}})?(?:\s(?=[\d,]+[억만천백]))?)+)"
    rf"(?:\s?(?P<scale>thousand|million|billion|trillion|bn|[kKMB])\b)?"
    rf"(?:[ -]?(?P<unit>(?i:{_WORDS}))(?![A-Za-z]))?(?!/?\d|[*^+])"
)
_PART = re.compile(rf"({_DIGITS})([조억만천백십]{{0,2}})")
_UP_TO = re.compile(r"(?:(?<!\d)(?:19|20)\d\d|[$₩€£¥]\d[\d,.]*)-$")
_LIST_MARKER = re.compile(r"(?m)^[^\S\n]*+\(?\d{1,2}[.)]\s")
_NATIVE = ["한", "두", "세", "네", "다섯", "여섯", "일곱", "여덟", "아홉", "열"]
_ENGLISH = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_TEENS = ["thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"]
_ENGLISH_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_NATIVE_TENS = ["열", "스물", "서른", "마흔", "쉰", "예순", "일흔", "여든", "아흔"]
_SINO = "일이삼사오육칠팔구"
_OTHER_FORMS = {1: ("하나",), 2: ("둘",), 3: ("셋", "석", "서"), 4: ("넷", "넉", "너"), 5: ("닷",), 6: ("엿",)}
"""Forms of Korean number words beside those before a counter: «은화 서 말», «쌀 닷 되», «셋»."""
_SPELLED = re.compile(
    rf"(?<![가-힣])({'|'.join(_NATIVE)})\s?({_WORDS})|(?i:\b({'|'.join(_ENGLISH)})\b(?:[\s-]({_WORDS})(?![A-Za-z]))?)"
)


@dataclass(frozen=True, slots=True)
class Number:
    """A number at its place: its value with the scale applied (``120만`` is 1,200,000) and its unit, or ''."""

    start: int
    end: int
    value: Decimal
    unit: str

    @property
    def telling(self) -> bool:
        """Returns whether the number matters to a summary: a bare single digit does not."""
        return bool(self.unit) or self.value >= 10 or self.value != self.value.to_integral_value()

    def same(self, other: Number) -> bool:
        """Returns whether both have equal values, and equal units where both name one."""
        return self.value == other.value and (not self.unit or not other.unit or self.unit == other.unit)


def find_numbers(text: str) -> Iterator[Number]:
    """Yields the numbers of a text with half-width digits; leaves out markers of numbered lists."""
    markers = {place for mark in _LIST_MARKER.finditer(text) for place in range(*mark.span())}
    for match in _PATTERN.finditer(text):
        if match.start("body") not in markers and not _is_subtracted(match):
            yield _build_number(match)


def find_spelled_numbers(text: str) -> Iterator[Number]:
    """Yields small numbers written as words: ``세 명``, ``three people``."""
    for match in _SPELLED.finditer(text):
        native, counter, english, unit = match.groups()
        value = _NATIVE.index(native) if native else _ENGLISH.index(english.lower())
        yield Number(match.start(), match.end(), Decimal(value + 1), _UNIT.get((counter or unit or "").lower(), ""))


def parse_number_word(text: str) -> int | None:
    """Returns the number that a text is in words, up to a hundred: ``서른두``, ``이십``, ``twenty-five``."""
    return _build_number_words().get(collapse_spaces(text.lower().replace("-", " ")))


@cache
def _build_number_words() -> dict[str, int]:
    """Returns the numbers up to a hundred by their words."""
    words = {"백": 100, "hundred": 100, "a hundred": 100, "one hundred": 100, "스무": 20}
    words |= {word: number for number, word in enumerate((*_ENGLISH, *_TEENS), 1)}
    words |= {word: ten * 10 for ten, word in enumerate(_ENGLISH_TENS, 2)}
    words |= {f"{ten} {one}": words[ten] + words[one] for ten in _ENGLISH_TENS for one in _ENGLISH[:9]}
    ones = {word: number for number, word in enumerate(_NATIVE[:9], 1)}
    ones |= {form: number for number, forms in _OTHER_FORMS.items() for form in forms}
    words |= ones | {word: at * 10 for at, word in enumerate(_NATIVE_TENS, 1)}
    words |= {f"{ten}{one}": at * 10 + words[one] for at, ten in enumerate(_NATIVE_TENS, 1) for one in ones}
    for at in range(10, 100):
        ten, one = divmod(at, 10)
        words["".join((_SINO[ten - 1] if ten > 1 else "", "십", _SINO[one - 1] if one else ""))] = at
    return words | {word: number for number, word in enumerate(_SINO, 1)}


@cache
def build_english_number_pattern() -> str:
    """Returns a pattern of the English number words, the longest first."""
    words = sorted(filter(str.isascii, _build_number_words()), key=len, reverse=True)
    return "|".join(word.replace(" ", "[- ]") for word in words)


def _is_subtracted(match: re.Match[str]) -> bool:
    """Returns whether the number is subtracted: it follows a number and a minus. The end of a range follows them too,
    but has a unit, or is a year or an amount of money.
    """
    before = match.string[max(0, match.start() - 12) : match.start()]
    counted = match["unit"] or match["scale"] or not match["body"].strip()[-1].isdigit()
    return before.endswith("-") and not counted and not _UP_TO.search(before)


def _build_number(match: re.Match[str]) -> Number:
    value = sum((_scale_digits(digits, scale) for digits, scale in _PART.findall(match["body"])), Decimal(0))
    value *= _ENGLISH_SCALE.get((match["scale"] or "").lower(), 1)
    unit = _CURRENCY.get(match["currency"] or "", "") or _UNIT.get((match["unit"] or "").lower(), "")
    end = match.start() + len(match.group().rstrip())
    return Number(match.start("currency") if match["currency"] else match.start("body"), end, value.normalize(), unit)


def _scale_digits(digits: str, scale: str) -> Decimal:
    value = Decimal(digits.replace(",", ""))
    for letter in scale:
        value *= _SCALE[letter]
    return value
