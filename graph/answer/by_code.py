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

from graph.choice.question import has_unread
from graph.context.past import QUOTED, RECALL
from prompt import render_prompt
from retrieval.answer.file_part import REASON as GIVEN
from retrieval.answer.tool import NAME as SEARCH
from text.fence import find_words

NEAREST = 3
"""Number of sections that the answer names when no section is near enough to be quoted."""


def render_answer_by_code(messages: Sequence[AnyMessage], language: str) -> str | None:
    """Returns the answer to a turn, worded from its tools' results; None when the model must answer.

    ``messages``: the messages of the turn, the question first.
    """
    question = str(messages[0].text)
    results = [message for message in messages if isinstance(message, ToolMessage)]
    texts = [_render_tool_answer(result, question, language) for result in results]
    if not texts or None in texts:
        return None
    return "\n\n".join(text for text in texts if text)


def _render_tool_answer(result: ToolMessage, question: str, language: str) -> str | None:
    wording = WORDING.get(result.name or "")
    return wording(result, question, language) if wording and result.status != "error" else None


def _render_recalled_turns(result: ToolMessage, question: str, language: str) -> str | None:
    """Returns the quotation of past turns; None where there is none, so that the model answers from what was found."""
    return str(result.text) if (result.artifact or {}).get(QUOTED) else None


def _repeat_result_text(result: ToolMessage, question: str, language: str) -> str | None:
    return str(result.text)


def render_best_passage(found: Mapping[str, Any], language: str) -> str | None:
    """Returns the best section of a search word for word, with its number; None when no section was near, and when the
    model is to read the passages itself.

    ``found``: ``LookUp.plain()``.
    """
    passages = found.get("passages") or ()
    if not passages or found.get("fallback") or _read_reason(found) == GIVEN:
        return None
    first = passages[0]
    return render_prompt("reply_documents", language, text=first["text"].strip(), number=first["number"])


def _read_reason(found: Mapping[str, Any]) -> str:
    """Returns why the last search of a look-up quotes nothing; "" where it quotes something."""
    return str((found.get("trace") or [{}])[-1].get("reason") or "")


def _render_search_answer(result: ToolMessage, question: str, language: str) -> str | None:
    """Returns the best section; after a fallback, its sentence (specification 7.5) and the nearest sections.

    Returns None when nothing came near the question, so that the model answers: a wrong guess that the documents were
    meant must not cost the answer. So also when the model is given the user's files to read.
    """
    look_up = result.artifact or {}
    if _read_reason(look_up) in ("unrelated", GIVEN):
        return None
    sentence = str((look_up.get("fallback") or {}).get("text") or "")
    hits = (look_up.get("trace") or [{}])[-1].get("hits", ())
    nearest = "\n".join(f"- {hit['label']}" for hit in hits[:NEAREST])
    if sentence and nearest:
        return render_prompt("reply_documents_unsure", language, said=sentence, places=nearest)
    return render_best_passage(look_up, language) or sentence or None


def _render_calculation(result: ToolMessage, question: str, language: str) -> str | None:
    """Returns the expression as people write it, and its value; of a day or a time, the sentence."""
    if facts := result.artifact:
        kind = next((name for name in ("day", "count", "moment") if name in facts), "")
        return _DATED[kind](facts, language) if kind else None
    expression, sign, value = re.split(r" ([=≈]) ", str(result.text), maxsplit=1)
    spaced = re.sub(r"(?<=[\d)%])([-+*/])(?=[\d(])", lambda match: f" {_SIGNS.get(match[1], match[1])} ", expression)
    grouped = re.sub(r"(?<![\d.])\d{5,}", lambda match: f"{int(match[0]):,}", spaced)
    return f"{grouped} {sign} **{value}**"


def _word_day(facts: Mapping[str, str], language: str) -> str:
    return _render_day_distance(language, date.fromisoformat(facts["day"]), int(facts["distance"]))


def _word_count(facts: Mapping[str, str], language: str) -> str:
    """Returns the number of days, weeks and so on, and from which day to which it was counted."""
    ends = {name: format_date(date.fromisoformat(facts[name]), "full", locale=language) for name in ("first", "last")}
    if facts["unit"] == "workdays":
        return render_prompt("reply_working_days", language, count=facts["count"], **ends)
    count = _render_time_amount(int(facts["count"]), facts["unit"].removesuffix("s"), language)
    rest = f" {_render_time_amount(int(facts['rest']), 'day', language)}" if facts["rest"] != "0" else ""
    return render_prompt("reply_count", language, count=f"{count}{rest}", **ends)


def _word_moment(facts: Mapping[str, str], language: str) -> str:
    moment, zone = datetime.fromisoformat(facts["moment"]), facts["zone"]
    told = {
        "date": format_date(moment, "full", locale=language),
        "time": format_time(moment, "HH:mm", locale=language),
    }
    if not zone:
        return render_prompt("reply_moment", language, **told)
    place = get_timezone_location(zone, locale=language, return_city=True)
    return render_prompt("reply_moment_there", language, place=place, **told)


_KOREAN_UNITS = {"day": "일", "week": "주", "month": "개월", "year": "년"}
_DATED: dict[str, Callable[[Mapping[str, str], str], str]] = {
    "day": _word_day,
    "count": _word_count,
    "moment": _word_moment,
}


def _render_current_time(result: ToolMessage, question: str, language: str) -> str | None:
    """Returns the date and time, and those days with weekday and distance that the user has just written about, because
    the question may mean them. None where the question asks for more than that: the model has the same as facts."""
    artifact = result.artifact or {}
    if "now" not in artifact:
        return None
    now, zone = datetime.fromisoformat(artifact["now"]), str(artifact.get("zone") or "")
    if has_unread(find_words(question), now):
        return None
    place = get_timezone_location(zone, locale=language, return_city=True) if zone else ""
    today = format_date(now, "full", locale=language)
    clock = format_time(now, "HH:mm", locale=language)
    name = "reply_time_there" if place else "reply_time"
    where = {"place": place} if place else {}
    meant = [date.fromisoformat(day) for day in artifact.get("dates") or () if day != now.date().isoformat()]
    lines = [_render_day_distance(language, day, (day - now.date()).days, "reply_told") for day in meant]
    return "\n".join([render_prompt(name, language, date=today, time=clock, **where), *lines])


def _render_day_distance(language: str, day: date, distance: int, name: str = "reply_day") -> str:
    text = format_date(day, "full", locale=language)
    way = "ahead" if distance > 0 else "past"
    return render_prompt(f"{name}_{way}", language, date=text, days=_render_time_amount(abs(distance), "day", language))


def _render_time_amount(count: int, unit: str, language: str) -> str:
    """Returns a number with its unit, as the language writes it."""
    if language == "ko":  # the CLDR has no words for months and years there
        return f"{count}{_KOREAN_UNITS[unit]}"
    return format_unit(count, f"duration-{unit}", "long", locale=language)


_SIGNS = {"*": "×", "/": "÷", "-": "−"}

WORDING: dict[str, Callable[[ToolMessage, str, str], str | None]] = {
    SEARCH: _render_search_answer,
    "calculate": _render_calculation,
    "current_time": _render_current_time,
    RECALL: _render_recalled_turns,
    "remember": _repeat_result_text,
    "forget": _repeat_result_text,
}
