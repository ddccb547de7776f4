"""Names in Korean and English text, found by their form alone. Leaves out words that are not surely names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from text import hangul, sentence
from text.language import detect_language


def _read_name_words(file: str) -> frozenset[str]:
    """Returns a word list of ``text/word``: words that begin a sentence, words that name no one, and so on."""
    return frozenset((Path(__file__).parents[1] / "word" / f"{file}.txt").read_text("utf-8").split())


_COMMON = _read_name_words("common")
_CALENDAR = _read_name_words("calendar")
_SHORTHAND = _read_name_words("shorthand")
_WORD = r"[A-Z][A-Za-z0-9]*(?:['’&.-][A-Za-z0-9]+)*"
_LINK = r"(?:\s(?:de|la|van|von)(?=\s[A-Z]))?"
_OF = rf"(?:\sof(?:\sthe)?\s{_WORD})?"  # Bank of America, but not "Sarah Kim of Northwind"
_CAPITALISED = re.compile(rf"(?<![\w@./-]){_WORD}{_OF}(?:{_LINK}\s{_WORD})*(?![^\W가-힣]|/)")
_BRAND = re.compile(rf"(?<![A-Za-z0-9@./_-])(?:{_WORD}|[a-z]+[A-Z][A-Za-z0-9]*)(?:\s{_WORD})*(?![^\W가-힣]|/)")
_BREAK = re.compile(r"(?:^|[:|—–]\s)[\s>*#•·\-–—|\"'“‘(\[{]*$")

TITLE = (
    "과장|대리|팀장|부장|사원|차장|이사|대표|교수|선생|박사|원장|매니저|기자|작가|감독|실장|주임|책임|선임|수석|본부장|간호사|변호사|"
    "변호인|코치|셰프|사장|회장|원장|센터장|점장|반장|선배|후배"
)
"""Titles that may follow a Korean name."""
_NO_NAME = (*TITLE.split("|"), *"팀에를을면의고로께던든런럼만까요다는엔들자")
_PARTICLE = (
    "은|는|이|가|을|를|의|와|과|께|께서|에게|한테|하고|도|만|이랑|랑|로|으로|이라고|라고|이고|이며|께는|에|이신|입니다|이에요|예요|이야|야|"
    "인데|인가|이지|처럼|부터|까지|이나|나"
)
SURNAME = "김이박최정강조윤장임한오서신권황안송류전홍고문양손배백허유남심노하곽성차주우구민진지엄채원천방공현함변염여추"
"""Korean family names of one syllable."""
_TITLED = re.compile(rf"(?<![가-힣])([{SURNAME}][가-힣]{{2}})\s?(?:{TITLE}|님)(?:님)?(?:{_PARTICLE})?(?![가-힣])")
_HONOURED = re.compile(rf"(?<![가-힣])([가-힣]{{2,4}}?)(?:\s?씨|님)(?:{_PARTICLE})?(?![가-힣])")
_CALLED = re.compile(
    r"(?:이름은|이름이|성함은|성함이)\s?['\"‘“]?((?!뭐|뭘|무엇|누구|어떻)[가-힣]{2,4}?|[A-Z][A-Za-z]+)['\"’”]?"
    r"(?:입니다|이에요|예요|이야|야|이고|고요?|라고|이라고|인데|이며|이?랑\s|하고\s|[.!]|$)"
)
_OPEN = hangul.list_ending_syllables(hangul.NONE).translate(dict.fromkeys(map(ord, "이가사버파")))
"""Syllables without a final consonant, which «야» can follow. Leaves out the syllables that «이야» begins with or
that an occupation ends in.
"""
_SELF = re.compile(
    rf"(?:저는|나는|전|난)\s([{SURNAME}][가-힣]{{2}})(?:입니다|이에요|예요|라고|이라고|이고|인데|이야)"
    rf"|(?:나는|난)\s([{SURNAME}][가-힣][{_OPEN}])야(?![가-힣])"
    rf"|(?<![가-힣])([{SURNAME}][가-힣]{{2}})(?:이?라고)\s(?:해요|합니다|하는|불러)"
)
_NOBODY = _read_name_words("nobody")
_PLACE = re.compile(
    r"(?<![가-힣])(서울|부산|대구|인천|광주|대전|울산|세종시|제주도?|강릉|속초|경주|전주|여수|춘천|수원|성남|판교|분당|강남|홍대|잠실|여의도|"
    r"이태원|성수동?|명동|종로|을지로|해운대|일본|중국|미국|영국|독일|프랑스|이탈리아|스페인|베트남|태국|대만|싱가포르|호주|캐나다|"
    r"도쿄|오사카|교토|후쿠오카|삿포로|런던|파리|뉴욕|방콕|다낭|하노이|베이징|상하이|타이베이|홍콩|바르셀로나|로마|베를린)"
    r"(?=역|시|에|의|은|는|이|가|을|를|로|으로|과|와|도|행|발|까지|부터|여행|출장|지사|본사|[^가-힣]|$)"
)
_QUOTED = re.compile(
    r"[「『《〈]([^」』》〉\n]{2,30})[」』》〉]|[“‘]([^”’\n]{2,24})[”’]|(?<![\w:,\[{(])\s['\"]([^'\"\n]{2,24})['\"](?![:\w])"
)


@dataclass(frozen=True, slots=True)
class Name:
    """A name at its place in the text."""

    start: int
    end: int
    text: str


def find_names(text: str) -> Iterator[Name]:
    """Yields names of people, places, products and works. In Korean text, a title, an introduction, quotation marks or
    Latin letters show a name; in English text, quotation marks or capitals do.
    """
    korean = not text.isascii() and detect_language(text) == "ko"
    if not text.isascii():  # these patterns need Korean letters
        yield from _find_pattern_names(text, _TITLED, _HONOURED, _CALLED, _SELF, _PLACE)
    yield from _find_quoted_names(text)
    yield from _find_latin_names(text, _BRAND) if korean else _find_english_names(text)


def _find_pattern_names(text: str, *patterns: re.Pattern[str]) -> Iterator[Name]:
    for pattern in patterns:
        for match in pattern.finditer(text):
            group = match.lastindex or 1
            if _is_person_word(match[group]):
                yield Name(match.start(group), match.end(group), match[group])


def _is_person_word(word: str) -> bool:
    """Returns whether a Korean word before a title is a name: not an office, not a department, not a word with a
    particle.
    """
    return word not in _NOBODY and not word.endswith(_NO_NAME)


def _find_quoted_names(text: str) -> Iterator[Name]:
    for match in _QUOTED.finditer(text):
        group = next(index for index in (1, 2, 3) if match[index])
        quote = match[group].strip()
        if _is_title_quote(quote, sure=group == 1):
            yield Name(match.start(group), match.end(group), quote)


def _is_title_quote(said: str, *, sure: bool) -> bool:
    """Returns whether quoted words are a title and not a sentence: they stand in a title's brackets, or are few and
    begin like a name.
    """
    words = said.split()
    if not words or said[-1] in ".!?…,~" or re.search(r"(?:다|요|죠|까|줘|해)$", said):
        return sure
    return sure or (len(words) <= 4 and all(word[0].isupper() or word[0].isdigit() for word in words))


def _find_latin_names(text: str, pattern: re.Pattern[str]) -> Iterator[Name]:
    for match in pattern.finditer(text):
        words = match.group().split()
        if not all(_is_ordinary_word(word) for word in words) and not (len(words) == 1 and len(words[0]) < 2):
            yield Name(match.start(), match.end(), match.group())


def _find_english_names(text: str) -> Iterator[Name]:
    """Yields capitalised words inside sentences. At a sentence's start, yields them only with a second capitalised
    word, or when they recur inside a sentence.
    """
    inside: list[Name] = []
    starts: list[Name] = []
    for piece, offset in _locate_sentences(text):
        if _is_title_case(piece):
            continue
        for match in _CAPITALISED.finditer(piece):
            for name in _trim_name_words(match, offset):
                first = _BREAK.search(piece[: name.start - offset]) is not None
                (starts if first and " " not in name.text else inside).append(name)
    known = {name.text for name in inside}
    yield from inside
    yield from (name for name in starts if name.text in known)


def _trim_name_words(match: re.Match[str], offset: int) -> Iterator[Name]:
    """Yields the run without the ordinary words at its ends, which have capitals only because a sentence starts or a
    title uses title case.
    """
    words = [(word.start(), word.group()) for word in re.finditer(r"\S+", match.group())]
    while words and _is_ordinary_word(words[0][1]):
        words.pop(0)
    while words and _is_ordinary_word(words[-1][1]):
        words.pop()
    if words and len(words[0][1]) > 1:
        start, end = words[0][0], words[-1][0] + len(words[-1][1])
        yield Name(
            offset + match.start() + start, offset + match.start() + end, match.group()[start:end].removesuffix("'s")
        )


def _is_ordinary_word(word: str) -> bool:
    low = word.lower().replace("’", "'")
    return low.removesuffix("'s") in _COMMON or low in _COMMON or low in _CALENDAR or low in _SHORTHAND


def _is_title_case(piece: str) -> bool:
    """Returns whether the text is in title case throughout, so that its capitals do not show names."""
    words = re.findall(r"[A-Za-z]{4,}", piece)
    return len(words) >= 4 and piece[-1:] not in ".!?" and sum(word[0].isupper() for word in words) >= 0.75 * len(words)


def _locate_sentences(text: str) -> Iterator[tuple[str, int]]:
    position = 0
    for piece in sentence.split_sentences(text):
        position = text.index(piece, position)
        yield piece, position
        position += len(piece)
