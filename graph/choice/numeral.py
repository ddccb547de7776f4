"""Rewrites the numbers of a message as plain digits: «3만 5천원» → 35000, «two hundred» → 200.

Rewrites only numbers that can be read in one way; everything else stays as it is.
"""

from __future__ import annotations

import re
import unicodedata

from graph.tool import arithmetic

_N = r"\d+(?:\.\d+)?"
_LOW = rf"(?=\d)(?:{_N}천\s?)?(?:{_N}백\s?)?(?:{_N}십)?(?<=[천백십])\d?"
_GROUP = rf"(?:{_LOW}|{_N})"
_KOREAN = re.compile(
    rf"(?<![\d.])(?=\d)(?:{_GROUP}조(?=\s?[원달\d])\s?)?(?:{_GROUP}\s?억\s?)?(?:{_GROUP}\s?만(?:\s?(?={_LOW})|(?=\d)|))?(?:{_LOW}|(?<=만){_N})?"
    r"(?<=[조억만천백십\d])"
)
_SCALED = re.compile(rf"({_N})\s?(thousand|million|billion|trillion|k)\b")
_MONEY = re.compile(
    r"[₩$€£¥]\s?|(?<=[\d만억천백십])\s?(?:원|달러|유로|엔)"
    r"|(?<=\d) ?\b(?:won|krw|dollars?|usd|bucks|euros?|eur|pounds?|quid|yen)\b"
)
_SEPARATED = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?!\d|,\d)")

_ONES = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen"]
_ONES += ["fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_SMALL = {word: at for at, word in enumerate(_ONES, 1)} | {word: 10 * at for at, word in enumerate(_TENS, 2)}
_LARGE = {"hundred": 100, "thousand": 1000, "million": 10**6}
_ENGLISH = re.compile(
    rf"\b(?:{'|'.join(_SMALL)})(?:(?: |-| and )(?:{'|'.join([*_SMALL, *_LARGE])})\b)*(?![a-z])(?! and a )"
)

_DIGIT = dict(zip("일이삼사오육칠팔구", range(1, 10), strict=True))
_OPERATION = r"더하기|빼기|곱하기|나누기"
_SINO = re.compile(
    rf"(?<![가-힣\d])(?:[일이삼사오육칠팔구]?[십백천만억])+(?:[일이삼사오육칠팔구십백천만억])*"
    rf"(?:(?<=[만억])\s(?:[일이삼사오육칠팔구]?[십백천])+[일이삼사오육칠팔구]?(?=\s?원))?"
    rf"(?=\s?(?:원|퍼센트|프로|{_OPERATION}|에서|에(?![가-힣])|의|을|를|은|는|이면)|[?\s]|$)"
    rf"|(?<![가-힣\d])[일이삼사오육칠팔구](?=\s(?:{_OPERATION}))|(?<=기\s)[일이삼사오육칠팔구](?=[은는이?\s]|$)"
)
_NATIVE_TENS = ["열", "스물", "서른", "마흔", "쉰", "예순", "일흔", "여든", "아흔"]
_NATIVE_ONES = ["하나", "둘", "셋", "넷", "다섯", "여섯", "일곱", "여덟", "아홉"]
_NATIVE = {word: 10 * at for at, word in enumerate(_NATIVE_TENS, 1)} | {"스무": 20}
_NATIVE_ONE = {word: at for at, word in enumerate(_NATIVE_ONES, 1)} | {"한": 1, "두": 2, "세": 3, "네": 4}
_COUNTED = r"명|사람|개|잔|장|병|박스|상자|번|배|달|시간|그릇|마리|권|봉지|판|줄"
_TEN, _LAST = "|".join(_NATIVE), "|".join(_NATIVE_ONE)
_COUNT = re.compile(
    rf"(?<![가-힣])(?:(?:{_TEN})?(?:{_LAST})|{_TEN})(?=\s?(?:{_COUNTED})|\s(?:{_OPERATION})|(?:이|이서)\s)"
    rf"|(?<=기\s)(?:(?:{_TEN})(?:{_LAST})?|{_LAST})(?=[은는이?\s]|$)"
)


def plain(text: str) -> str:
    """Returns the message in lower case, with its numbers in digits, without separators and currencies."""
    text = re.sub(r"[⁺⁻]?[⁰¹²³⁴-⁹]+", r"**\g<0>", text)
    text = unicodedata.normalize("NFKC", re.sub(r"(\d+)?\s*([¼-¾⅐-⅞])", _fraction, text)).casefold()
    text = re.sub(r"\b(?:a |one )dozen\b", "12", re.sub(r"(\d) dozen\b", r"\1*12", text))
    text = re.sub(r"1\s?인당", "인당", re.sub(r"(?<![가-힣])일주일", "7일", text))
    text = re.sub(r"(?<![가-힣])일 ?년(?=[에이은간]|\s)", "1년", text)
    text = _SEPARATED.sub(lambda match: match[0].replace(",", ""), text)
    text = _ENGLISH.sub(_english, _COUNT.sub(_native, _SINO.sub(_sino, text)))
    text = _KOREAN.sub(lambda match: arithmetic.korean(match[0]) if re.search(r"\D", match[0]) else match[0], text)
    text = _SCALED.sub(arithmetic.english, text)
    return re.sub(r"퍼센트|프로(?![가-힣]{2})|\bpercent\b|\bpct\b", "%", _MONEY.sub("", text))


def _fraction(found: re.Match[str]) -> str:
    part = unicodedata.normalize("NFKC", found[2]).replace("⁄", "/")
    return f"({found[1]}+{part})" if found[1] else f"({part})"


def _english(found: re.Match[str]) -> str:
    """Converts «three hundred and fifty» to 350; keeps words that do not make one number («two three»)."""
    total = section = 0
    for word in re.findall(r"[a-z]+", found[0].replace(" and ", " ")):
        size = _SMALL.get(word, 0)
        if word == "hundred":
            section *= 100
        elif word in _LARGE:
            total, section = total + section * _LARGE[word], 0
        elif section % 100 and not (section % 10 == 0 and size < 10 and section % 100 >= 20):
            return found[0]
        else:
            section += size
    return str(total + section)


def _sino(found: re.Match[str]) -> str:
    """Converts «이백오십» to 250 and «만이천» to 12000."""
    total = section = digit = 0
    for letter in found[0].replace(" ", ""):
        if letter in _DIGIT:
            digit = _DIGIT[letter]
        elif letter in "십백천":
            section, digit = section + (digit or 1) * {"십": 10, "백": 100, "천": 1000}[letter], 0
        else:
            total, section, digit = total + (section + digit or 1) * {"만": 10**4, "억": 10**8}[letter], 0, 0
    return str(total + section + digit)


def _native(found: re.Match[str]) -> str:
    """Converts «스물다섯» to 25."""
    ten = next((word for word in _NATIVE if found[0].startswith(word)), "")
    return str(_NATIVE.get(ten, 0) + _NATIVE_ONE.get(found[0][len(ten) :], 0))
