"""Tools for a model that does not call them: a router chooses them from the user's message alone (design 9.4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date

from langchain_core.messages import ToolCall
from langchain_core.tools import BaseTool

from graph.choice.arguments import build_label_calls
from graph.choice.expression import Sum
from graph.choice.feature import Label
from graph.choice.question import read_time_question
from graph.choice.router import Route, load_router
from graph.choice.wish import find_wish
from graph.context.clock import Clock, read_local_time
from graph.context.past import RECALL
from graph.tool.time import DATES
from graph.tool.tool_call import make_call
from retrieval.answer.tool import NAME as SEARCH
from retrieval.answer.tool import QUOTABLE
from text.date.calendar import find_single_days, find_written

RECENT = 3
"""Messages of the user before the question in which dates are looked for."""
LEANING = 0.3
"""Least probability of a question about a time or a day where the user has just written dates (none of 608 other
messages has it)."""
DOCUMENTS_LEANING = 0.1
"""Least probability of a question about the documents where a section is near enough to be quoted (decision 9)."""


def route_tool_calls(
    question: str,
    earlier: Sequence[str],
    tools: Sequence[BaseTool],
    write: Callable[[], str | None] = lambda: None,
    now: Clock = read_local_time,
) -> list[ToolCall]:
    """Returns the calls that a message needs, only of the tools given. ``earlier``: the user's messages before
    ``question``, the last one last. ``write``: returns the expression of a sum that the question states in words.

    A question about days or times that code reads to the last word needs no router.
    """
    offered = {tool.name for tool in tools}
    if "calculate" in offered and (expressions := read_time_question(question, now())):
        return [make_call("calculate", {"expression": expression}) for expression in expressions]
    previous = earlier[-1] if earlier else None
    route = load_router().route(question, previous)
    today = now().date()
    dates = [day for day in find_single_days(question, today) if day != today] if route.time >= LEANING else []
    earlier_dates = _find_written_dates(earlier, today) if route.time >= LEANING else []
    label: Label = "time" if dates or earlier_dates else route.label
    if label in ("remember", "none"):  # the message's own words decide what is a wish, and what it names
        wish = find_wish(question, earlier, route.wish)
        label, question = ("none", question) if wish is None else ("remember", wish)
    if label == "none":
        label = _find_quotable_label(route, question, tools)
    if label == "time" and Sum.read(question, None, now()).named is None:
        write = _write_nothing
    chosen = build_label_calls(label, question, previous, _name_days(dates), _name_days(earlier_dates), write)
    return [make_call(name, arguments) for name, arguments in chosen if name in offered]


def _find_quotable_label(route: Route, question: str, tools: Sequence[BaseTool]) -> Label:
    """Returns the likeliest of the labels whose tool finds something near enough to the question to quote it; «none»
    where none does."""
    doubtful: list[tuple[float, Label, str]] = []
    if route.documents >= DOCUMENTS_LEANING:
        doubtful.append((route.documents, "documents", SEARCH))
    if route.leans_to_recall:
        doubtful.append((route.recall, "recall", RECALL))
    for _, label, name in sorted(doubtful, reverse=True):
        if any(_is_quotable(tool, question) for tool in tools if tool.name == name):
            return label
    return "none"


def _is_quotable(tool: BaseTool, question: str) -> bool:
    """Returns whether a tool finds something near enough to the question to quote it."""
    check = (tool.metadata or {}).get(QUOTABLE)
    return check is not None and bool(check(question))


def _write_nothing() -> None:
    """Stands for the model where a question about the time names no day and no time of day."""


def _find_written_dates(earlier: Sequence[str], today: date) -> list[date]:
    """Returns the days that the last messages before a question write out."""
    return [day for message in earlier[-RECENT:] for day in find_written(message, today)]


def _name_days(found: Sequence[date]) -> list[str]:
    return list(dict.fromkeys(map(str, found)))[:DATES]
