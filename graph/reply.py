"""The answer that code words from what tools gave: exact, and there at once (design §9, small profile).

A tool's result becomes a sentence by the function that stands under its name in ``WORDING``; a tool without one leaves
the answer to the model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import Any

from babel.dates import format_date, format_time, get_timezone_location
from babel.units import format_unit
from langchain_core.messages import AnyMessage, ToolMessage

from prompt import render
from retrieval.tool import NAME as SEARCH
from text.calendar import days


def word(messages: Sequence[AnyMessage], language: str) -> str | None:
    """The answer to a turn from its tools' results; None where the model must give it.

    ``messages``: those of the turn.
    """
    question = str(messages[0].text)
    results = [message for message in messages if isinstance(message, ToolMessage)]
    texts = [_worded(result, question, language) for result in results]
    if not texts or None in texts:
        return None
    return "\n\n".join(text for text in texts if text)


def _worded(result: ToolMessage, question: str, language: str) -> str | None:
    wording = WORDING.get(result.name or "")
    return wording(result, question, language) if wording and result.status != "error" else None


def _as_it_is(result: ToolMessage, question: str, language: str) -> str | None:
    return str(result.text)


def quote(found: Mapping[str, Any], language: str) -> str | None:
    """The best section of a search as it stands, with its number; None where it found none.

    ``found``: ``LookUp.plain()``.
    """
    passages = found.get("passages") or ()
    if not passages:
        return None
    first = passages[0]
    return render("reply_documents", language, text=first["text"].strip(), number=first["number"])


def _quoted(result: ToolMessage, question: str, language: str) -> str | None:
    """The best section; without one, the specified sentence (copilot-rag.md §4.4)."""
    found = result.artifact or {}
    return quote(found, language) or str((found.get("fallback") or {}).get("text") or "") or None


def _calculated(result: ToolMessage, question: str, language: str) -> str | None:
    """The expression as people write it, and its value."""
    expression, sign, value = re.split(r" ([=≈]) ", str(result.text), maxsplit=1)
    spaced = re.sub(r"(?<=[\d)%])([-+*/])(?=[\d(])", lambda match: f" {_SIGNS.get(match[1], match[1])} ", expression)
    grouped = re.sub(r"(?<![\d.])\d{5,}", lambda match: f"{int(match[0]):,}", spaced)
    return f"{grouped} {sign} **{value}**"


def _timed(result: ToolMessage, question: str, language: str) -> str | None:
    """The days that the question names, with their weekday and how far away they are; else the date and time."""
    told = result.artifact or {}
    if "now" not in told:
        return None
    now, zone = datetime.fromisoformat(told["now"]), str(told.get("zone") or "")
    asked = [day for day in days(question, now.date()) if day != now.date()]
    if asked and not zone:
        return "\n".join(_day(language, day, (day - now.date()).days) for day in asked)
    place = get_timezone_location(zone, locale=language, return_city=True) if zone else ""
    today = format_date(now, "full", locale=language)
    clock = format_time(now, "HH:mm", locale=language)
    name = "reply_time_there" if place else "reply_time"
    where = {"place": place} if place else {}
    return render(name, language, date=today, time=clock, **where)


def _day(language: str, day: date, distance: int) -> str:
    text = format_date(day, "full", locale=language)
    count = abs(distance)
    number = f"{count}일" if language == "ko" else format_unit(count, "duration-day", "long", locale=language)
    return render("reply_day_ahead" if distance > 0 else "reply_day_past", language, date=text, days=number)


_SIGNS = {"*": "×", "/": "÷", "-": "−"}

WORDING: dict[str, Callable[[ToolMessage, str, str], str | None]] = {
    SEARCH: _quoted,
    "calculate": _calculated,
    "current_time": _timed,
    "remember": _as_it_is,
    "forget": _as_it_is,
}
