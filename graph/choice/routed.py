"""Tools for a model that does not call them: a router chooses them from the user's message alone (design 9.4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from uuid import uuid4

from langchain_core.messages import ToolCall
from langchain_core.tools import BaseTool

from graph.choice.arguments import calls
from graph.choice.feature import Label
from graph.choice.router import router
from text.calendar import written

RECENT = 3
"""Messages of the user before the question in which dates are looked for."""
LEANING = 0.3
"""Least probability of a question about a time or a day where the user has just written dates; none of 608 other
messages has it (decision 44)."""


def choose(
    question: str, earlier: Sequence[str], tools: Sequence[BaseTool], write: Callable[[], str | None] = lambda: None
) -> list[ToolCall]:
    """Returns the calls that a message needs, only of the tools given. ``earlier``: the user's messages before
    ``question``, the last one last. ``write``: returns the expression of a sum that the question states in words."""
    offered = {tool.name for tool in tools}
    previous = earlier[-1] if earlier else None
    route = router().route(question, previous)
    dates = written("\n".join(earlier[-RECENT:])) if route.time >= LEANING else []
    label: Label = "time" if dates else route.label
    return [
        ToolCall(name=name, args=arguments, id=uuid4().hex, type="tool_call")
        for name, arguments in calls(label, question, previous, dates, write)
        if name in offered
    ]
