"""Reads the expression that a message states in words, only where the reading is exact: a wrong sum is worse than none.

The words are rewritten step by step. A step finds a form of ``form.txt`` in the message and replaces the matched words
and values with one value, until one expression is left that has used every number of the message. The model answers
messages that no form reads.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from pathlib import Path

from graph.choice import numeral
from graph.tool import arithmetic
from text import sentence

MAX_CHARS = 400
"""Most characters that are read; of a longer message only the last sentence is read."""
_FORMS = Path(__file__).with_name("form.txt")
_READ = range(0xE000, 0xE100)
"""Private characters; each stands for an expression that has been read already."""
_VALUE = r"((?<![\d.,])\d+(?:\.\d+)?(?![\d.]*\d)|[\ue000-\ue0ff])"
_UNIT = (
    r"(?:명|사람|개월|개|잔|장|병|박스|박|일|시간|달|주|년|번|회|권|자루|상자|팩|대|마리|인분|그릇|판|줄|세트|켤레|벌|조각|알"
    r"|캔|쪽|페이지|문제|점|조|팀|그룹|그램|평(?!균)|kg|km|g|리터|l|m)"
)
_MACROS = {"P": rf"{_VALUE}\s?%", "C": rf"(?:\s?{_UNIT})?", "G": r"(?:\s[a-z]+){0,3}?\s", "U": _UNIT, "V": _VALUE}
_OPERATOR = (
    (r"곱하기|\btimes\b|\bmultiplied by\b|[×·∙⋅✕✖]", "*"),
    (r"나누기|\bdivided by\b|÷", "/"),
    (r"더하기|\bplus\b", "+"),
    (r"빼기|\bminus\b|(?<=\d)\s?[−–]\s?(?=\d)", "-"),
    (r"\^", "**"),
)
_TIGHT = re.compile(r"(?<![\d.(])\d[\d.]*(?:[-+]\d[\d.]*)+(?=\s(?:곱하기|나누기|times\b|divided\b|multiplied\b))")
"""Matches a sum in signs that is calculated before the word behind it: «85+90 나누기 2»."""
_SIGN = r"(?:\*\*|[-+*/%])"
_JOINT = re.compile(
    rf"(?P<unit>\s?{_UNIT}|\s[a-z]+)??"
    r"(?:(?:\s?(?:,|와|과|이?랑|하고|\band\b|&|;)\s?)+(?:[a-z가-힣]+\s){0,2}|\s(?:[가-힣]+\s){0,2})"
)
"""Matches the text between two values of a list: a counting word, a conjunction, and words about the next value."""
_SUM = re.compile(
    r"합(?:계|산|치|하|쳐|해|$|[은이])|더하|더해|총액|(?:총|모두|전부) ?(?:얼마|몇)"
    r"|\b(?:sum|total|add|altogether|together|in all)\b"
)
_PRICE = re.compile(r"얼마|\b(?:how much|cost|costs|price|spend|pay)\b")
"""Matches a question about a price; about several expressions that were read, such a question asks for their sum."""
_MEAN = re.compile(r"평균|\b(?:average|mean of|the mean)\b")
_TERM = rf"(?:(?:sqrt|factorial|log|ln|round|abs|pi)\b|{_SIGN}|[().,!\s]|{_VALUE.replace('((', '(?:(')})"
_RUN = re.compile(rf"{_TERM}+")
_ELSE = (
    (re.compile(r"\b(?:each|apiece|per (?:person|head))\b|[1한] ?(?:사람|명)|인당"), "/"),
    (re.compile(r"\b(?:left|remaining|remains)\b|남[았는은]"), "-"),
    (re.compile(r"나머지|\bremainder\b"), "%"),
    (re.compile(r"\b(?:half|twice|double)\b|절반|두 배"), None),
)
"""Words that ask for more than the expression says, unless the expression has the sign beside the words."""
_FOR_ONE = re.compile(rf"(?<![\d.])1\s?{_UNIT}(?:당|씩|에|이|은|는)?(?=\s(?:얼마|몇))")
_THAT = re.compile(r"\b(?:that|it|this|the (?:result|total|answer))\b|[거여]기(?=서|에|다)|그(?:거|것|걸|값|결과| 값)")
_INSTEAD = re.compile(
    r"(?:(?:and|then|what about|how about|what if|if|with|그럼|그러면|그리고)\s)*"
    rf"(?P<before>(?:by|for|between|among)\s)?{_VALUE}\s?(?P<after>%|{_UNIT}|[a-z]+)?(?:[은는]|이?면|이서|이|으?로)?(?:\s?나누면|\s?할인)?(?:이?면|은|는)?"
    r"(?:요|\s?얼마\w*)?\W*"
)
"""Matches a question that is only another value for the sum before: «and for 6 people?»."""
_LEAD = re.compile(rf"^(?:\W|and|then|now|ok|so|그럼|그리고|거기에|다시)*(?={_SIGN}\s?\d)")


def expression(question: str, previous: str | None = None) -> str | None:
    """Returns the expression that the question states, for ``calculate``; None when it cannot be read exactly.

    A question that goes on from the sum of the ``previous`` question («and minus 8») is read together with that sum.
    """
    sentences = [part for part in sentence.split(question) if part.strip()]
    for text in dict.fromkeys([question, *sentences[-1:]]):
        if len(text) <= MAX_CHARS and (formula := _read(_signs(text), [])):
            return formula
    before = expression(previous) if previous and len(question) <= MAX_CHARS else None
    return _continued(_signs(question), _signs(previous or ""), before) if before else None


def _continued(text: str, previous: str, before: str) -> str | None:
    """Returns the expression of a question that goes on from the sum before. The sum takes the place of «that», or goes
    in front of a leading operator. A question that is only another value of the same kind replaces that value."""
    if (other := _INSTEAD.fullmatch(text)) and (other["after"] or other["before"]):
        return _exchanged(previous, other)
    mark = chr(_READ[0])
    text, places = _THAT.subn(mark, text)
    formula = _read(text if places else _LEAD.sub(mark, text, count=1), [before]) if places < 2 else None
    return formula if formula != before else None


def _exchanged(previous: str, other: re.Match[str]) -> str | None:
    """Returns the sum before with its one value of this kind exchanged; None unless exactly one value is of this kind.
    The kind is the word behind a value, or else the word before the value."""
    before, after = ("", other["after"]) if other["after"] else (other["before"], "")
    same = re.compile(rf"{re.escape(before)}{_VALUE}(?=\s?{re.escape(after)})")
    return _read(same.sub(f"{before}{other[2]}", previous), []) if len(same.findall(previous)) == 1 else None


def _signs(text: str) -> str:
    text = numeral.plain(text)
    text = _TIGHT.sub(r"(\g<0>)", text)
    for words, sign in _OPERATOR:
        text = re.sub(words, sign, text)
    text = re.sub(r"(?<=\d)\s?x\s?(?=[\d(])", "*", text)
    return re.sub(rf"(?<=\d)\s?{_UNIT}(?=\s?{_SIGN}\s?[\d(])", "", text)


def _read(text: str, values: list[str]) -> str | None:
    """Rewrites the text until nothing changes; returns the one expression that is left."""
    while len(values) < len(_READ):
        rewrite = next((part for part in (_formed(text, values), _listed(text)) if part), None)
        if rewrite is None:
            break
        start, end, part = rewrite
        text = f"{text[:start]}{chr(_READ[len(values)])}{text[end:]}"
        values.append(part)
    return _left(text, values)


def _formed(text: str, values: list[str]) -> tuple[int, int, str] | None:
    """Returns where the first readable form stands, start and end, and its expression."""
    for form, template in _forms():
        if match := form.search(text):
            return *match.span(), template.format(*match.groups())
    return None


def _listed(text: str) -> tuple[int, int, str] | None:
    """Returns where a list of values to add up or average stands, start and end, and its expression. The list must hold
    all values of the text, and all of one kind."""
    values = list(re.finditer(_VALUE, text))
    mean, all_read = bool(_MEAN.search(text)), all(value[0] >= chr(_READ[0]) for value in values)
    if len(values) < 2 or "%" in text or not (mean or _SUM.search(text) or (all_read and _PRICE.search(text))):
        return None
    joints = [_JOINT.fullmatch(text[left.end() : right.start()]) for left, right in pairwise(values)]
    kinds = {(joint["unit"] or "").strip() if joint else None for joint in joints}
    kind = next(iter(kinds))
    rest = text[values[-1].end() :].lstrip()
    if len(kinds) > 1 or kind is None or not (rest.startswith(kind) if kind else not re.match(_UNIT, rest)):
        return None
    added = "+".join(value[0] for value in values)
    return values[0].start(), values[-1].end(), f"({added})/{len(values)}" if mean else added


def _left(text: str, values: list[str]) -> str | None:
    """Returns the one expression that remains in the text, with the values put in; None when another number remains."""
    text = _FOR_ONE.sub("인당", text)
    runs = [run for run in _RUN.finditer(text) if re.search(r"[\d\ue000-\ue0ff]", run[0])]
    if len(runs) != 1:
        return None
    formula = runs[0][0].strip(" .,!\n")
    while mark := re.search("[\ue000-\ue0ff]", formula):
        value = values[ord(mark[0]) - _READ[0]]
        formula = value if formula == mark[0] else f"{formula[: mark.start()]}({value}){formula[mark.end() :]}"
    rest = f"{text[: runs[0].start()]} {text[runs[0].end() :]}"
    asks_more = any(words.search(rest) and (sign is None or sign not in formula) for words, sign in _ELSE)
    return formula if not asks_more and _can_be_solved(formula) else None


def _can_be_solved(made: str) -> bool:
    """Returns whether the expression is more than a number, and can be calculated."""
    if len(re.findall(r"\d+(?:\.\d+)?", made)) < 2 and not re.search("[a-z]", made):
        return False
    try:
        arithmetic.solve(made)
    except arithmetic.CannotCalculate:
        return False
    return True


@cache
def _forms() -> list[tuple[re.Pattern[str], str]]:
    """Returns the forms as patterns over a message, with their expressions."""
    lines = [line.split(" → ") for line in _FORMS.read_text("utf-8").splitlines() if " → " in line and line[0] != "#"]
    return [(re.compile(re.sub("[VPCGU]", lambda macro: _MACROS[macro[0]], form)), to) for form, to in lines]
