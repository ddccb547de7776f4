"""The tools of the agent. A new tool is one file and one line in ``TOOLS``, or in ``MEMORY_TOOLS`` when the tool
reaches the long-term memory of the session that calls it.

A tool may describe itself in ``metadata``: ``about`` (one line per language, for prompts); ``foreign`` (the results are
text that neither the user nor the model wrote); ``writes`` with ``question`` and ``is_said`` (the tool changes memory;
``question`` returns what the user is asked first once the prompt holds text of others, unless the user's own message
says all of it): see ``graph/tool/guard.py``. A tool raises
``ToolException`` with a text that the model can act on. Called with a ``ToolCall``, every tool here answers with a
``ToolMessage``; refused arguments and ``ToolException`` set its ``status`` to «error».
"""

from __future__ import annotations

from collections.abc import Callable

from langchain_core.tools import BaseTool
from pydantic import ValidationError
from pydantic.v1 import ValidationError as OldValidationError

from graph.tool import wish
from graph.tool.calculate import calculate
from graph.tool.forget import forget
from graph.tool.reach import Reach
from graph.tool.recall import recall
from graph.tool.remember import remember
from graph.tool.time import current_time


def _as_text(tool: BaseTool) -> BaseTool:
    """Returns the tool with its errors turned into results, so that the model can correct itself."""

    def refused(error: ValidationError | OldValidationError) -> str:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"]) or "arguments"
        return f"The call was refused: {name}: {first['msg']}. {tool.name} takes: {', '.join(tool.args)}."

    tool.handle_tool_error = True
    tool.handle_validation_error = refused
    return tool


TOOLS: tuple[BaseTool, ...] = (
    _as_text(current_time),
    _as_text(calculate),
)

MEMORY_TOOLS: tuple[Callable[[Reach], BaseTool], ...] = (
    recall,
    remember,
    forget,
)


def memory_tools(reach: Reach) -> list[BaseTool]:
    """Returns the long-term memory tools of one turn, for a model that calls tools itself."""
    return [_as_text(make(reach)) for make in MEMORY_TOOLS]


def wish_tools(reach: Reach, near: wish.Near) -> list[BaseTool]:
    """Returns the memory tools for a profile whose tools a router chooses: ``remember`` and ``forget`` take the user's
    message."""
    return [_as_text(tool) for tool in (recall(reach), *wish.tools(reach, near))]
