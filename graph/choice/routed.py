"""Tools for a model that does not call them: a router chooses them from the user's message alone (design 9.4)."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import uuid4

from langchain_core.messages import ToolCall
from langchain_core.tools import BaseTool

from graph.choice.arguments import calls
from graph.choice.router import router


def choose(question: str, previous: str | None, tools: Sequence[BaseTool]) -> list[ToolCall]:
    """Returns the calls that a message needs, only of the tools given. ``previous``: the user's message before
    ``question``."""
    offered = {tool.name for tool in tools}
    route = router().route(question, previous)
    return [
        ToolCall(name=name, args=arguments, id=uuid4().hex, type="tool_call")
        for name, arguments in calls(route.label, question, previous)
        if name in offered
    ]
