"""The tool calls that follow from the label of a message; code reads their arguments from the message."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from graph.choice.expression import read_stated_expression
from graph.choice.feature import Label, extract_message_core
from graph.tool.calculation import zone
from graph.tool.recall import QUERY_CHARS as RECALL_CHARS
from graph.tool.time import LOCAL
from retrieval.answer.tool import NAME as SEARCH
from retrieval.answer.tool import QUERY_CHARS

_THERE = re.compile(r"\bthere\b|거기|거긴|그쪽|그곳", re.IGNORECASE)


def build_label_calls(
    label: Label,
    question: str,
    previous: str | None,
    dates: Sequence[str] = (),
    earlier_dates: Sequence[str] = (),
    write: Callable[[], str | None] = lambda: None,
) -> list[tuple[str, dict[str, Any]]]:
    """Returns the names of the tools to call, with their arguments; no call for a sum without an expression.

    ``dates``: days that the message names. ``earlier_dates``: days that the user has just written about, which the
    question may mean, unless it asks about a place.
    ``write``: returns the expression of a message that code cannot read.
    """
    if label == "time" and (formula := write()):
        return [("calculate", {"expression": formula})]
    if label == "time":
        first, *others = find_question_zones(question, previous)
        days = dates or (earlier_dates if [first, *others] == [LOCAL] else ())
        call = {"zone": first, "dates": list(days)} if days else {"zone": first}
        return [("current_time", call), *(("current_time", {"zone": place}) for place in others)]
    if label == "calculate":
        formula = read_stated_expression(question) or write()
        return [("calculate", {"expression": formula})] if formula else []
    if label == "documents":
        return [(SEARCH, {"query": question[:QUERY_CHARS]})]
    if label == "recall":
        return [("recall", {"query": question[:RECALL_CHARS]})]
    return [(label, {"message": question})] if label != "none" else []


def find_question_zones(question: str, previous: str | None) -> list[str]:
    """Returns the zones that a question about the time names; when the question says «there», the zones of the question
    before. Falls back to the local zone."""
    place_zones = zone.find_named_zones(extract_message_core(question))
    if not place_zones and previous and _THERE.search(question):
        place_zones = zone.find_named_zones(extract_message_core(previous))
    return place_zones or [LOCAL]
