"""The expression of a message that asks for a sum: read by code, or written by the model and checked by code.

Code reads a message that is nothing but an expression («15 곱하기 24는?», «12*(3+4)»). What other words ask for is
language, so the model writes the expression, and code checks its numbers and calculates (decision 48).
"""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage

from errors import EmptyAnswer, RequestRejected
from graph.tool import arithmetic
from model.call.stream import Model, complete
from prompt import render

MAX_CHARS = 400
"""Most characters of a message whose expression is read or asked for."""
REPLY_TOKENS = 60
SMALL_NUMBER = 100
KNOWN = frozenset(map(Decimal, (365, 1000)))
"""Numbers that an expression may have though the message has them not: those up to ``SMALL_NUMBER`` («a dozen», «three
weeks», per cent), and these. A larger one was made up, like an exchange rate."""
EXAMPLES = (
    ("Two shirts at 30 dollars and one for 25, what is that?", "2*30+25"),
    ("2000000원에서 10% 빼면 얼마야?", "2000000*(1-10/100)"),
    ("5명이 45000원을 나눠 내면?", "45000/5"),
)
"""Messages and their expressions, shown to the model before the message."""
GRAMMAR = """root ::= term (sign term)*
sign ::= "+" | "-" | "*" | "/" | "^"
term ::= number | "(" root ")"
number ::= [0-9]{1,15} ("." [0-9]{1,6})?
"""
"""All that llama.cpp's server lets the model write; other servers ignore it."""
_NAME = r"sqrt|factorial|log|ln|round|abs|pi"
_ALONE = re.compile(rf"((?:{_NAME}|[-+*/%().,\d])+?)[은는을를.]?")
"""Matches an expression as ``arithmetic.understand`` writes it, and the particle behind it."""


@dataclass(frozen=True, slots=True)
class Sum:
    """A message that asks for a sum. ``previous``: the message and the expression of a sum in the turn before."""

    message: str
    previous: tuple[str, str] | None = None


def stated(message: str) -> str | None:
    """Returns the expression that the message is; None when the message has other words."""
    found = _ALONE.fullmatch(arithmetic.understand(message)) if len(message) <= MAX_CHARS else None
    return found[1] if found and can_be_solved(found[1]) else None


def request(asked: Sum, language: str, conversation: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Returns the messages that ask for the expression. They stand behind the ``conversation``, so that the server can
    go on from what it has evaluated, now and for the next answer."""
    shown = [*EXAMPLES, *([asked.previous] if asked.previous else [])]
    messages = [*conversation, SystemMessage(render("expression", language))]
    for text, formula in shown:
        messages += [HumanMessage(arithmetic.digits(text)), AIMessage(formula)]
    return [*messages, HumanMessage(arithmetic.digits(asked.message))]


def write(model: Model, messages: Sequence[AnyMessage], stop: threading.Event | None) -> AIMessage | None:
    """Returns the model's reply to ``request``; None when the server refuses the request or replies nothing.

    Raises ``Stopped``, and the other errors of the model's server.
    """
    shape = {"temperature": 0, "max_tokens": REPLY_TOKENS, "extra_body": {"grammar": GRAMMAR}}
    try:
        return complete(model, list(messages), stop=stop, **shape)
    except (RequestRejected, EmptyAnswer):
        return None


def holds(formula: str, asked: Sum) -> bool:
    """Returns whether the expression can be calculated, has every number of the message except 1, and no large number
    that neither this message nor the sum before has."""
    used, told = numbers(formula), numbers(asked.message)
    known = told | numbers(" ".join(asked.previous or ())) | KNOWN
    missing = [number for number in told - {Decimal(1)} if used.isdisjoint(_forms(number))]
    made_up = [number for number in used if number > SMALL_NUMBER and number not in known]
    return not missing and not made_up and can_be_solved(formula)


def numbers(text: str) -> set[Decimal]:
    """Returns the numbers of a text; «3만 5천» is 35000."""
    return {Decimal(number) for number in re.findall(r"\d+(?:\.\d+)?", arithmetic.digits(text))}


def _forms(number: Decimal) -> set[Decimal]:
    """Returns the number, and what may stand for it as a percentage: 20 % more is 1.2 times."""
    return {number, number / 100, 1 + number / 100, 1 - number / 100}


def can_be_solved(formula: str) -> bool:
    """Returns whether the expression is more than a number, and can be calculated."""
    if not re.search(rf"{_NAME}|[\d)%]\s*[-+*/%^]", formula):
        return False
    try:
        arithmetic.solve(formula)
    except arithmetic.CannotCalculate:
        return False
    return True
