"""Chooses the facts of an original that the warning «facts missing from the summary» names (specification 3.6).

Users soon ignore a warning that is often wrong. So the warning names a fact only when its form leaves little doubt, and
only when the user or the assistant said it. ``python -m bench warning`` measures the warning.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Sequence
from decimal import Decimal

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from text.fact import fact
from text.language import detect_language

_QUOTED = re.compile(
    r"[「『《〈]([^」』》〉\n]{2,30})[」』》〉]|[“\"]([^”\"\n]{2,30})[”\"]|(?<!\w)[‘']([^’'\n]{2,30})[’'](?![A-Za-z])"
)
_INNER_CAPITAL = re.compile(r"[a-z][A-Z]")
CALCULATOR = "calculate"
"""The tool whose result is a formula, its sign, and the value: ``36000000/12 = 3,000,000``."""
_RESULT_SIGN = re.compile(r" [=≈] ")
_NUMBER = r"\d[\d.,]*"
_FORMULA = re.compile(rf"\(*{_NUMBER}\)*(?:\s*[*/÷×+−–-]+\s*\(*{_NUMBER}\)*)+")


def strip_formulas(messages: Sequence[AnyMessage]) -> list[str]:
    """Returns the texts of the messages with the calculator's formulas blanked, also where the assistant repeats them.

    Nobody told an operand that stands in a formula only. The lengths of the texts stay; results and the user's own
    formulas, too.
    """
    formulas = [
        _RESULT_SIGN.split(message.text)[0]
        for message in messages
        if isinstance(message, ToolMessage) and message.name == CALCULATOR and _RESULT_SIGN.search(message.text)
    ]
    known = {value for formula in formulas for value in _find_formula_operands(formula)}

    def blank(match: re.Match[str]) -> str:
        return " " * len(match[0]) if set(_find_formula_operands(match[0])) <= known else match[0]

    texts: list[str] = []
    for message in messages:
        text = str(message.text)
        if isinstance(message, ToolMessage) and message.name == CALCULATOR and (sign := _RESULT_SIGN.search(text)):
            text = " " * sign.start() + text[sign.start() :]
        elif isinstance(message, AIMessage) and known:
            text = _FORMULA.sub(blank, text)
        texts.append(text)
    return texts


def _find_formula_operands(formula: str) -> list[Decimal]:
    return [Decimal(plain) for found in re.findall(_NUMBER, formula) if (plain := found.replace(",", "").rstrip("."))]


def choose_told_facts(
    messages: Sequence[AnyMessage], found: Sequence[fact.Fact], said: Callable[[fact.Fact], bool]
) -> tuple[fact.Fact, ...]:
    """Returns those facts of the joined messages that somebody surely told; ``said``: whether the user or the assistant
    said a fact.

    Takes numbers, dates, times, codes and addresses, but not those in a quoted title. Takes only names that the user
    wrote: an assistant's lists begin with verbs in capitals, so an assistant's names are left out.
    """
    text = "\n".join(message.text for message in messages)
    user_text = "\n".join(message.text for message in messages if isinstance(message, HumanMessage))
    english = detect_language(user_text) == "en"
    names = {
        candidate.value
        for candidate in fact.find_facts(user_text)
        if candidate.kind == "name" and is_name(candidate.text, english)
    }
    titles = [match.span() for match in _QUOTED.finditer(text)]
    return tuple(
        candidate
        for candidate in found
        if (
            candidate.value in names
            if candidate.kind == "name"
            else said(candidate) and _is_whole(candidate, text, titles)
        )
    )


def is_name(name: str, english: bool) -> bool:
    """Returns whether a word with a capital is surely a name: several words, a word with a capital inside, a word in
    Hangul, or in English text a word that is not an abbreviation."""
    if not name.isascii() or " " in name or _INNER_CAPITAL.search(name):
        return True
    return english and not name.isupper()


def _is_whole(one: fact.Fact, text: str, titles: Sequence[tuple[int, int]]) -> bool:
    """Returns whether a fact stands alone: not in a word («143am») nor in a title («Part 1»). ``titles``: in order."""
    after = text[one.end : one.end + 1]
    if one.kind == "number" and one.text[-1:].isdigit() and after.isascii() and after.isalpha():
        return False
    start, end = titles[at] if (at := bisect(titles, (one.start, 0)) - 1) >= 0 else (0, 0)
    return not (one.end < end and end - start > len(one.text) + 2)
