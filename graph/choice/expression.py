"""The expression of a message that asks for a sum, a day or a time: read by code, or written by the model and checked.

Code reads a message that is nothing but an expression («15 곱하기 24는?», «12*(3+4)»), and whole questions about days
(``graph.choice.question``). What other words ask for is language, so the model writes the expression, and code checks
its numbers, dates and places, and calculates it.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time
from decimal import Decimal
from typing import Self

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage

from errors import EmptyAnswer, RequestRejected
from graph.choice.question import QuestionParts, find_parts
from graph.tool.calculation import arithmetic, zone
from graph.tool.calculation.expression import GRAMMAR, HERE, is_dated, reckon_expression
from model.call.stream import Model, complete_answer
from prompt import render_prompt
from text.date.calendar import find_amounts

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
DATED_EXAMPLES = (
    ("How many days until 2026-12-24?", "days(today, 2026-12-24)"),
    ("Grandma's birthday was on 2026-10-09, how long ago is that?", "days(2026-10-09, today)"),
    ("2027-02-01에 시작해서 영업일로 8일 걸리면 언제 끝나?", "2027-02-01 + 8 working days"),
    ("The course began on 2026-09-07 and takes 3 months, when does it end?", "2026-09-07 + 3 months"),
    ("2027-06-12이 무슨 요일이야?", "weekday(2027-06-12)"),
    ("2026-12-30 10일 전은 며칠이야?", "2026-12-30 - 10 days"),
    ("15:00 in Paris, what time is that in Seoul?", "time(15:00, Paris, Seoul)"),
)
"""The same for messages about days and times, whose days stand there as dates."""
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_HOUR = re.compile(r"(\d{1,2}):(\d\d)")
_NAME = r"sqrt|factorial|log|ln|round|abs|pi"
_ALONE = re.compile(rf"((?:{_NAME}|[-+*/%().,\d])+?)[은는을를.]?")
"""Matches an expression as ``arithmetic.normalize_expression`` writes it, and the particle behind it."""


@dataclass(frozen=True, slots=True)
class Sum:
    """A message that asks for a sum, a day or a time. ``previous``: the message and the expression of a sum in the turn
    before. ``named``: what the message names of days and times; None when it names none."""

    message: str
    previous: tuple[str, str] | None = None
    named: QuestionParts | None = None

    @classmethod
    def read(cls, message: str, previous: tuple[str, str] | None, now: datetime) -> Self:
        """Returns the sum with what the message names. More than one day at once («next week») has no expression, and a
        message with other numbers than those of days («40 pages a day, in two weeks») is a sum of numbers."""
        if len(message) > MAX_CHARS:
            return cls(message, previous)
        parts = find_parts(message, now)
        other = [day for day in parts.days if day.first != parts.today or not day.is_day]
        has_numbers = re.search(r"\d", _cut_amounts(parts.rest)) is not None
        is_dated = bool(other or parts.clocks) and all(day.is_day for day in other) and not has_numbers
        return cls(message, previous, parts if is_dated else None)


def read_stated_expression(message: str) -> str | None:
    """Returns the expression that the message is; None when the message has other words."""
    found = _ALONE.fullmatch(arithmetic.normalize_expression(message)) if len(message) <= MAX_CHARS else None
    if _DATE.search(message):
        return None
    return found[1] if found and can_be_solved(found[1]) else None


def build_expression_prompt(asked: Sum, language: str, conversation: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Returns the messages that ask for the expression. They stand behind the ``conversation``, so that the server can
    go on from what it has evaluated, now and for the next answer."""
    if asked.named is not None:
        messages = [*conversation, SystemMessage(render_prompt("expression_of_days", language))]
        for text, formula in DATED_EXAMPLES:
            messages += [HumanMessage(text), AIMessage(formula)]
        return [*messages, HumanMessage(write_dates(asked.named))]
    shown = [*EXAMPLES, *([asked.previous] if asked.previous else [])]
    messages = [*conversation, SystemMessage(render_prompt("expression", language))]
    for text, formula in shown:
        messages += [HumanMessage(arithmetic.write_numbers_in_digits(text)), AIMessage(formula)]
    return [*messages, HumanMessage(arithmetic.write_numbers_in_digits(asked.message))]


def ask_model_expression(
    model: Model, messages: Sequence[AnyMessage], stop: threading.Event | None
) -> AIMessage | None:
    """Returns the model's reply to ``build_expression_prompt``; None when the server refuses the request or replies
    nothing.

    Raises ``Stopped``, and the other errors of the model's server.
    """
    shape = {"temperature": 0, "max_tokens": REPLY_TOKENS, "extra_body": {"grammar": GRAMMAR}}
    try:
        return complete_answer(model, list(messages), stop=stop, **shape)
    except (RequestRejected, EmptyAnswer):
        return None


def write_dates(named: QuestionParts) -> str:
    """Returns a message with its days as dates and its times of day in digits."""
    spans = [(day.start, day.end, str(day.first)) for day in named.days if day.first != named.today]
    spans += [(clock.start, clock.end, f"{clock.hour % 24:02}:{clock.minute:02}") for clock in named.clocks]
    text = named.text
    for start, end, plain in sorted(spans, reverse=True):
        text = f"{text[:start]}{plain}{text[end:]}"
    return text


def is_expression_faithful(formula: str, asked: Sum) -> bool:
    """Returns whether the expression can be calculated, has every number of the message except 1, and no large number
    that neither this message nor the sum before has. One about days or times has the dates, times, places and numbers
    of the message, all of them and no others."""
    if asked.named is not None:
        return _holds_named(formula, asked.named)
    used, said = find_text_numbers(formula), find_text_numbers(asked.message)
    known = said | find_text_numbers(" ".join(asked.previous or ())) | KNOWN
    missing = [number for number in said - {Decimal(1)} if used.isdisjoint(_list_percentage_forms(number))]
    made_up = [number for number in used if number > SMALL_NUMBER and number not in known]
    return not missing and not made_up and can_be_solved(formula)


def _cut_amounts(text: str) -> str:
    """Returns a text without its amounts of days, weeks and so on."""
    for amount in reversed(find_amounts(text)):
        text = text[: amount.start] + text[amount.end :]
    return text


def _holds_named(formula: str, named: QuestionParts) -> bool:
    if not is_dated(formula) or re.search(r"next|last|nth", formula):
        return False
    try:
        reckon_expression(formula, datetime.combine(named.today, time(), UTC))
    except arithmetic.CannotCalculate:
        return False
    dates = {str(day.first) for day in named.days if day.first != named.today}
    clocks = {(clock.hour % 24, clock.minute) for clock in named.clocks}
    places = [place.strip() for inside in re.findall(r"time\(([^)]*)\)", formula) for place in inside.split(",")]
    zones = {zone.find_place_zone(place) for place in places if place != HERE and not _HOUR.fullmatch(place)}
    places_named = {place.zone for place in named.places}
    steps = {int(count) for count in re.findall(r"[+-] (\d+)", formula)}
    counts = {amount.count for amount in find_amounts(named.rest)} | ({abs(named.minutes)} if named.minutes else set())
    written = {int(number) for number in re.findall(r"\d+", named.rest)}
    return (
        set(_DATE.findall(formula)) == dates
        and {(int(hour), int(minute)) for hour, minute in _HOUR.findall(formula)} == clocks
        and places_named <= zones <= places_named | {named.local}
        and written <= steps <= counts | written
    )


def find_text_numbers(text: str) -> set[Decimal]:
    """Returns the numbers of a text; «3만 5천» is 35000."""
    return {Decimal(number) for number in re.findall(r"\d+(?:\.\d+)?", arithmetic.write_numbers_in_digits(text))}


def _list_percentage_forms(number: Decimal) -> set[Decimal]:
    """Returns the number, and what may stand for it as a percentage: 20 % more is 1.2 times."""
    return {number, number / 100, 1 + number / 100, 1 - number / 100}


def can_be_solved(formula: str) -> bool:
    """Returns whether the expression is more than a number, and can be calculated."""
    if not re.search(rf"{_NAME}|[\d)%]\s*[-+*/%^]", formula):
        return False
    try:
        arithmetic.solve_expression(formula)
    except arithmetic.CannotCalculate:
        return False
    return True
