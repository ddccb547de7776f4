"""A call with an argument that its tool does not take is refused, and told what it takes."""

from __future__ import annotations

from typing import cast

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from pydantic import BaseModel, ValidationError

from graph.tool import TOOLS, memory_tools
from graph.tool.reach import MemoryReach
from retrieval.answer.tool import build_document_tool as search

OWN = [*TOOLS, *memory_tools(cast(MemoryReach, None))]
SEARCH = search(lambda _: pytest.fail("it must not run"))


RIGHT: dict[str, dict[str, object]] = {
    "current_time": {"zone": "local"},
    "calculate": {"expression": "6*7"},
    "recall": {"query": "budget", "day": "2026-03", "conversation": "trip"},
    "remember": {"key": "budget", "value": "$5"},
    "forget": {"what": "budget", "numbers": [1]},
}


@pytest.mark.parametrize("tool", OWN, ids=lambda tool: tool.name)
def test_an_argument_that_it_does_not_take_is_refused(tool: BaseTool) -> None:
    right = RIGHT[tool.name]
    call = {"type": "tool_call", "name": tool.name, "args": {**right, "timezone": "Asia/Tokyo"}, "id": "1"}
    message = tool.invoke(call)
    assert isinstance(message, ToolMessage)
    assert message.status == "error"
    assert "timezone" in message.text
    assert f"{tool.name} takes: {', '.join(right)}" in message.text


def test_the_search_refuses_it_too() -> None:
    assert issubclass(cast(type, SEARCH.args_schema), BaseModel)
    with pytest.raises(ValidationError, match="limit"):
        SEARCH.invoke({"query": "refunds", "limit": 3})
