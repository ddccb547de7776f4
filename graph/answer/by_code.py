"""The answer that code words from the tools' results: exact, and there at once (design 9.5).

``WORDING`` maps a tool's name to the function that makes a sentence of the tool's result. The model answers when a
called tool has no such function.
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
from retrieval.answer.tool import NAME as SEARCH
from text.calendar import days

NEAREST = 3
"""Number of sections that the answer names when no section is near enough to be quoted."""


def word(messages: Sequence[AnyMessage], language: str) -> str | None:
    """Returns the answer to a turn, worded from its tools' results; None when the model must answer.

    ``messages``: the messages of the turn, the question first.
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
    """Returns the best section of a search word for word, with its number; None when no section was near.

    ``found``: ``LookUp.plain()``.
    """
    passages = found.get("passages") or ()
    if not passages or found.get("fallback"):
        return None
    first = passages[0]
    return render("reply_documents", language, text=first["text"].strip(), number=first["number"])


def _quoted(result: ToolMessage, question: str, language: str) -> str | None:
    """Returns the best section; after a fallback, its sentence (specification 7.5) and the nearest sections.

    Returns None when nothing came near the question, so that the model answers: a wrong guess that the documents were
    meant must not cost the answer.
    """
    look_up = result.artifact or {}
    step = (look_up.get("trace") or [{}])[-1]
    if step.get("reason") == "unrelated":
        return None
    sentence = str((look_up.get("fallback") or {}).get("text") or "")
    nearest = "\n".join(f"- {hit['label']}" for hit in step.get("hits", ())[:NEAREST])
    if sentence and nearest:
        return render("reply_documents_unsure", language, said=sentence, places=nearest)
    return quote(look_up, language) or sentence or None


def _calculated(result: ToolMessage, question: str, language: str) -> str | None:
    """Returns the expression as people write it, and its value."""
    expression, sign, value = re.split(r" ([=≈]) ", str(result.text), maxsplit=1)
    spaced = re.sub(r"(?<=[\d)%])([-+*/])(?=[\d(])", lambda match: f" {_SIGNS.get(match[1], match[1])} ", expression)
    grouped = re.sub(r"(?<![\d.])\d{5,}", lambda match: f"{int(match[0]):,}", spaced)
    return f"{grouped} {sign} **{value}**"


def _timed(result: ToolMessage, question: str, language: str) -> str | None:
    """Returns the days that the question names, with weekday and distance in days; else the date and time, and the same
    of the days that the user has just written about, because the question may mean them."""
    artifact = result.artifact or {}
    if "now" not in artifact:
        return None
    now, zone = datetime.fromisoformat(artifact["now"]), str(artifact.get("zone") or "")
    asked_days = [day for day in days(question, now.date()) if day != now.date()]
    if asked_days and not zone:
        return "\n".join(_day(language, day, (day - now.date()).days) for day in asked_days)
    place = get_timezone_location(zone, locale=language, return_city=True) if zone else ""
    today = format_date(now, "full", locale=language)
    clock = format_time(now, "HH:mm", locale=language)
    name = "reply_time_there" if place else "reply_time"
    where = {"place": place} if place else {}
    meant = [date.fromisoformat(day) for day in artifact.get("dates") or () if day != now.date().isoformat()]
    lines = [_day(language, day, (day - now.date()).days, "reply_told") for day in meant]
    return "\n".join([render(name, language, date=today, time=clock, **where), *lines])


def _day(language: str, day: date, distance: int, name: str = "reply_day") -> str:
    text = format_date(day, "full", locale=language)
    count = abs(distance)
    number = f"{count}일" if language == "ko" else format_unit(count, "duration-day", "long", locale=language)
    return render(f"{name}_{'ahead' if distance > 0 else 'past'}", language, date=text, days=number)


_SIGNS = {"*": "×", "/": "÷", "-": "−"}

WORDING: dict[str, Callable[[ToolMessage, str, str], str | None]] = {
    SEARCH: _quoted,
    "calculate": _calculated,
    "current_time": _timed,
    "remember": _as_it_is,
    "forget": _as_it_is,
}
