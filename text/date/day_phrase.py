"""The patterns of phrases for days, in Korean and English, from the words of ``text/word/day.txt``.

The groups of a pattern name the parts of a phrase: ``year``, ``of_month`` («next»), ``nth``, ``feast`` and so on;
``text.date.calendar`` makes days of them. A group whose name ends in «_» is the same part in another place.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from text.clean import collapse_spaces
from text.date import when
from text.hangul import SSANGSIOT, list_ending_syllables
from text.language import has_korean
from text.word_table import read_table_section

_TABLE = Path(__file__).parents[1] / "word" / "day.txt"
_IRREGULAR = (
    "was|were|did|had|went|came|got|began|bought|met|flew|sent|paid|took|made|saw|wrote|lost|won|born|ago|since|last"
)
"""English words of the past that do not end in «-ed»."""


@cache
def compile_phrases() -> dict[str, re.Pattern[str]]:
    """Returns the patterns by the names of their readers, and those of amounts, ways and tenses."""
    sources = {**_list_korean(), **_list_english(), **_list_amounts(), **_list_tenses()}
    return {name: re.compile(source, re.IGNORECASE) for name, source in sources.items()}


def read_parts(match: re.Match[str]) -> dict[str, str]:
    """Returns the words of a match by their part in it."""
    return {name.rstrip("_"): normal_form(value) for name, value in match.groupdict().items() if value}


def normal_form(word: str) -> str:
    """Returns a word as the table has it: a Korean one without spaces."""
    lowered = collapse_spaces(word.casefold().replace("’", "'"))
    return lowered.replace(" ", "") if has_korean(lowered) else lowered


@cache
def read_meanings(section: str) -> dict[str, str]:
    """Returns the meaning of every word of one section of the table."""
    return {
        normal_form(word.replace("_", " ")): meaning
        for meaning, words in read_table_section(_TABLE, section)
        for word in words
    }


def _list_korean() -> dict[str, str]:
    year = rf"(?:(?P<year>(?:19|20)\d\d)년|(?P<of_year>{_build_word_pattern('year', 'ko')}))(?:도|에|의)?\s?"
    week = rf"(?P<of_week>{_build_word_pattern('shift', 'ko')}|이)\s?주"
    weekday = rf"(?P<weekday>[{when.KOREAN_WEEKDAYS}])요일"
    return {
        "near_ko": rf"(?<![가-힣])(?P<near>{_build_word_pattern('near', 'ko')})(?!야|서야)",
        "date_ko": rf"(?<![\d가-힣])(?:{year})?"
        rf"(?:(?:(?P<of_feast>지난|이번|다음)\s)?(?P<feast>{_build_word_pattern('feast', 'ko')})"
        rf"|(?P<same_day>(?<=\s)오늘)"
        rf"|(?:(?P<month>\d{{1,2}})월|(?P<of_month>{_build_word_pattern('shift', 'ko')}|이|내)\s?달)(?:의|에)?\s?"
        rf"(?:(?P<day>\d{{1,2}})일(?!간)|(?P<end>{_build_word_pattern('end', 'ko')})(?![가-힣]*\s?요일)"
        rf"|(?P<nth>{_build_word_pattern('ordinal', 'ko')})\s?(?:주\s?)?{weekday})?)?",
        "day_ko": r"(?<![\d월가-힣.])(?<!월 )(?<!달 )(?P<day>\d{1,2})일"
        r"(?=까지|에서|부터|에\s|날|[은이]?\s?(?:무슨|어떤)\s?요일)",
        "weekday_ko": rf"(?<!매주 )(?<!매주)(?:{week}(?:의)?\s?|(?P<nearest>{_build_word_pattern('nearest', 'ko')})\s)?"
        rf"{weekday}(?!마다)",
        "week_ko": rf"(?<![가-힣]){week}(?P<weekend>말)?(?!\s?(?:뒤|후|전|일))|(?<![가-힣])(?P<weekend_>주말)",
    }


def _list_english() -> dict[str, str]:
    year = (
        rf"(?:,?\s+(?:of\s+|in\s+)?(?:(?P<year>(?:19|20)\d\d)\b|(?P<of_year>{_build_word_pattern('year', 'en')})\b))?"
    )
    name = rf"(?P<month_name>{when.MONTH})\b(?:\.(?=,?\s*\d))?"
    capital = "|".join(month.capitalize() for month in when.MONTHS)
    weekday = rf"(?P<weekday>{'|'.join(when.WEEKDAYS)})"
    day = r"(?P<day>\d{1,2})(?:st|nd|rd|th)"
    return {
        "near_en": rf"\b(?P<near>{_build_word_pattern('near', 'en')})\b",
        "date_en": rf"(?<![\d.:/-])(?:the\s+)?\b(?:{day}?|(?P<nth>{_build_word_pattern('ordinal', 'en')})\s+{weekday}"
        rf"|(?P<end>{_build_word_pattern('end', 'en')}))\s+(?:of\s+|in\s+)?"
        rf"(?:{name}|(?P<of_month>{_build_word_pattern('shift', 'en')}|the)\s+month\b){year}",
        "month_first": rf"(?<!\byou\s)(?<!\bwe\s)(?<!\bi\s)\b{name}\s+(?:the\s+)?{day}?\b(?!:\d|\s?[ap]m\b){year}",
        "month": r"\b(?:in|of|until|till|by|since|during|before|after|to|from)\s+"
        rf"(?P<month_name>(?-i:{capital}))\b(?!\s+(?:the\s+)?\d{{1,2}}\b){year}"
        rf"|\b(?P<of_month>{_build_word_pattern('shift', 'en')})\s+month\b|\b(?P<of_year_>"
        rf"{_build_word_pattern('year', 'en')})\b",
        "feast": rf"\b(?:(?P<of_feast>last|this|next)\s+)?(?P<feast>{_build_word_pattern('feast', 'en')})(?![\w'’])"
        rf"(?:\s+day\b)?{year}",
        "day_en": rf"\bthe\s+{day}\b(?=\s*(?:[?.!,;]|$)|\s+(?:fall|is|be|and|was|will)\b)",
        "weekday_en": rf"(?<!every )(?<!each )\b(?:(?P<nearest>{_build_word_pattern('nearest', 'en')})\s+)?{weekday}\b"
        rf"(?:\s+(?:of\s+)?(?P<of_week>{_build_word_pattern('shift', 'en')})\s+week)?",
        "weekday_short": rf"\b(?P<nearest>{_build_word_pattern('nearest', 'en')})\s+"
        r"(?P<weekday>mon|tues?|wed|thurs?|thu|fri|sat|sun)\b",
        "week_en": rf"\b(?:the\s+)?(?:(?P<of_week>{_build_word_pattern('shift', 'en')})\s+week(?P<weekend>end)?"
        r"|(?P<weekend_>weekend))\b",
    }


def _list_amounts() -> dict[str, str]:
    """Returns the patterns of amounts, and of what leads from them to a day, before and behind them."""
    one = _build_word_pattern("number", "en").replace("the", r"the(?=\s+\w+\s+(?:after|before|following)\b)")
    span = rf"(?P<span>(?<![가-힣])(?:{_build_word_pattern('span', 'ko')})|\b(?:{_build_word_pattern('span', 'en')})\b)"
    number = rf"(?P<number>(?<![\d.,])\d{{1,5}}|(?<![가-힣])(?:{_build_word_pattern('number', 'ko')})|\b(?:{one})\b)"
    unit = (
        rf"(?:\s?(?P<unit>{_build_word_pattern('unit', 'ko')})(?![요월스])|[\s-]+(?P<unit_>"
        rf"{_build_word_pattern('unit', 'en')})\b)"
    )
    return {
        "amount": rf"(?:(?P<working>영업일|근무일)(?:\s기준)?(?:으?로)?\s)?(?:{span}|{number}{unit})",
        "from": r"\s+(?P<way>after|before|from|following|prior\s+to|on)\s+(?:the\s+)?",
        "on": r"(?:에서|부터|로부터|보다|의|에|하고)?\s*(?:딱\s*)?",
        "sum": r"\s*(?:plus|\+)\s*|(?P<minus>\s+minus\s+)",
        "turn": r"(?:['’]s?)?\s*(?P<way>이후|뒤|후(?![보기])|지나서|있다가|이전|전(?![화체부자국문])"
        r"|(?:ago|from\s+now|hence|time)\b)",
        "lead": r"\b(?:in|within)\s+\Z",
    }


def _list_tenses() -> dict[str, str]:
    past = re.sub("[있겠]", "", list_ending_syllables(SSANGSIOT))
    return {
        "past": rf"\b(?:{_IRREGULAR})\b|\b[a-z]{{2,}}(?<!e)ed\b|[{past}]",
        "not_past": rf"\b(?:is|are|be|being|get|gets)\s+\w+ed\b|남았|[{past}]으면\s?(?:좋|해|하)",
    }


def _build_word_pattern(section: str, script: str) -> str:
    """Returns a pattern of the Korean («ko») or English («en») words of a section, the longest first."""
    words = [word for _, found in read_table_section(_TABLE, section) for word in found]
    chosen = [word for word in words if has_korean(word) == (script == "ko")]
    space = r"\s?" if script == "ko" else r"\s+"
    return "|".join(space.join(map(re.escape, word.split("_"))) for word in sorted(chosen, key=len, reverse=True))
