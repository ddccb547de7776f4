"""The calls that follow from what a message is for, their arguments read by code."""

from __future__ import annotations

import re
from typing import Any

from graph.choice.expression import expression
from graph.choice.feature import Label, core
from graph.tool import zone
from graph.tool.recall_memory import QUERY_CHARS as RECALL_CHARS
from graph.tool.time import LOCAL
from retrieval.tool import NAME as SEARCH
from retrieval.tool import QUERY_CHARS

_THERE = re.compile(r"\bthere\b|거기|거긴|그쪽|그곳", re.IGNORECASE)


def calls(label: Label, question: str, previous: str | None) -> list[tuple[str, dict[str, Any]]]:
    """Names of tools and their arguments; none where a sum cannot be read exactly."""
    if label == "time":
        return [("current_time", {"zone": place}) for place in zones(question, previous)]
    if label == "calculate":
        found = expression(question, previous)
        return [("calculate", {"expression": found})] if found else []
    if label == "documents":
        return [(SEARCH, {"query": question[:QUERY_CHARS]})]
    if label == "recall":
        return [("recall_memory", {"query": question[:RECALL_CHARS]})]
    return [(label, {"message": question})] if label != "none" else []


def zones(question: str, previous: str | None) -> list[str]:
    """The zones that a question of the time asks about; those of the question before where it says «there»."""
    named = zone.named(core(question))
    if not named and previous and _THERE.search(question):
        named = zone.named(core(previous))
    return named or [LOCAL]
