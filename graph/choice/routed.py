"""Tools for a model that does not call them: a router chooses them from the user's message alone (design §9)."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import uuid4

from langchain_core.messages import ToolCall
from langchain_core.tools import BaseTool

from graph.choice.arguments import calls
from graph.choice.router import router


def choose(question: str, previous: str | None, tools: Sequence[BaseTool]) -> list[ToolCall]:
    """The calls that a message needs, of the tools that are there; ``previous``: the user's message before it."""
    offered = {tool.name for tool in tools}
    label = router().route(question, previous).label
    return [
        ToolCall(name=name, args=arguments, id=uuid4().hex, type="tool_call")
        for name, arguments in calls(label, question, previous)
        if name in offered
    ]
