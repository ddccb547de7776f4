"""The tool that calculates: exact decimals, no ``eval``."""

from __future__ import annotations

import re
from typing import Any

from langchain_core.tools import ToolException, tool
from pydantic import BaseModel, Field, field_validator

from graph.tool import arithmetic

MAX_LENGTH = 300
NEAR = 600
"""Characters at either end of a long message that its numbers are looked for in: more than the decision is shown."""


class CalculateArguments(BaseModel, extra="forbid"):
    """Arguments of ``calculate``."""

    expression: str = Field(max_length=MAX_LENGTH, description='An expression such as "(1200+350)*3" or "15% of 2400"')

    @field_validator("expression")
    @classmethod
    def _has_an_operation(cls, value: str) -> str:
        """A number alone is a statement of the user, not a calculation."""
        if re.fullmatch(r"[\d.]+", arithmetic.understand(value)):
            raise ValueError("a number alone needs no calculation; give an expression with an operation")
        return value


@tool(args_schema=CalculateArguments)
def calculate(expression: str) -> str:
    """Calculate an arithmetic expression exactly."""
    try:
        return arithmetic.solve(expression)
    except arithmetic.CannotCalculate as error:
        raise ToolException(str(error)) from error


_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_ENGLISH = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_KOREAN = ["하나", "둘", "셋", "넷", "다섯", "여섯", "일곱", "여덟", "아홉", "열"]
_WORDS = {word: str(value) for words in (_ENGLISH, _KOREAN) for value, word in enumerate(words, 1)}
_WORDS |= {"스물": "20", "스무": "20", "백": "100", "천": "1000", "만": "10000", "절반": "2", "반으로": "2"}
_WORDS |= {"dozen": "12", "hundred": "100", "thousand": "1000", "million": "1000000", "half": "2", "third": "3"}
_NUMBER_WORD = re.compile("|".join(rf"\b{word}\b" if word.isascii() else word for word in _WORDS), re.IGNORECASE)
_ASKS = re.compile(
    r"[?？%=]|\d\s*[-+*/×÷^]|얼마|몇|계산|더하|더해|빼|곱|나누|나눠|합|평균|퍼센트|제곱|할인|알려"
    r"|\b(?:how|what|calculate|compute|find|work out|tell|split|divide|multipl|add|subtract|sum|total|average|percent"
    r"|times|plus|minus|power|root)",
    re.IGNORECASE,
)
"""A message that has none of these only tells something: «The ticket was $89 and I bought 2 of them»."""


def ground(arguments: dict[str, Any], question: str) -> dict[str, Any] | None:
    """No call for an expression that cannot be calculated or shares no number with the question, nor for a message
    that asks for nothing. A number whose zeros a small model miscounted («70만» as 70000) is put right."""
    try:
        arithmetic.solve(str(arguments.get("expression", "")))
    except arithmetic.CannotCalculate:
        return None
    if len(question) > 2 * NEAR:
        question = f"{question[:NEAR]} … {question[-NEAR:]}"
    expression = arithmetic.understand(str(arguments["expression"]))
    meant, written = (
        set(_NUMBER.findall(each)) for each in (arithmetic.understand(question), question.replace(",", ""))
    )
    asked = meant | written | {_WORDS[word.casefold()] for word in _NUMBER_WORD.findall(question)}
    if not (set(_NUMBER.findall(expression)) & asked and _ASKS.search(question)):
        return None
    spoken = {each.rstrip("0"): each for each in meant - written}
    right = _NUMBER.sub(
        lambda each: each[0] if each[0] in meant else spoken.get(each[0].rstrip("0"), each[0]), expression
    )
    return arguments if right == expression else {**arguments, "expression": right}


calculate.metadata = {
    "ground": ground,
    "about": {"ko": "계산 (사칙연산, 퍼센트, 거듭제곱)", "en": "arithmetic: sums, percentages, powers"},
    "examples": {
        "ko": [
            ("37 곱하기 12는?", {"expression": "37*12"}),
            ("8만 원의 20%는 얼마야?", {"expression": "20% of 80000"}),
            ("사과 4개에 3,600원이면 한 개에 얼마야?", {"expression": "3600/4"}),
            (("12 곱하기 4는?", "거기서 8을 빼면?"), {"expression": "12*4-8"}),
        ],
        "en": [
            ("What is 37 times 12?", {"expression": "37*12"}),
            ("How much is a 20% tip on $80?", {"expression": "20% of 80"}),
            ("If 4 apples cost 3,600, how much is one?", {"expression": "3600/4"}),
            (("What is 12 times 4?", "And minus 8?"), {"expression": "12*4-8"}),
        ],
    },
}
