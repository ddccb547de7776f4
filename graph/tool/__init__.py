"""The tools of the agent: a new one is one file and one line in ``TOOLS``, or in ``MEMORY_TOOLS`` for long-term memory.

Shows ``TOOLS``, ``memory_tools`` and ``wish_tools``; ``calculation`` and ``question`` hold what several tools use.
May import ``graph.context``, ``graph.choice.wish``, ``memory``, ``store``, ``prompt`` and ``text``.
"""

from __future__ import annotations

from collections.abc import Callable

from langchain_core.tools import BaseTool
from pydantic import ValidationError
from pydantic.v1 import ValidationError as OldValidationError

from graph.tool import wish
from graph.tool.calculate import calculate
from graph.tool.forget import make_forget_tool
from graph.tool.reach import MemoryReach
from graph.tool.recall import make_recall_tool
from graph.tool.remember import make_remember_tool
from graph.tool.time import current_time


def _as_text(tool: BaseTool) -> BaseTool:
    """Returns the tool with its errors turned into results, so that the model can correct itself."""

    def describe_refused_call(error: ValidationError | OldValidationError) -> str:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"]) or "arguments"
        return f"The call was refused: {name}: {first['msg']}. {tool.name} takes: {', '.join(tool.args)}."

    tool.handle_tool_error = True
    tool.handle_validation_error = describe_refused_call
    return tool


TOOLS: tuple[BaseTool, ...] = (
    _as_text(current_time),
    _as_text(calculate),
)
"""A tool may describe itself in ``metadata``: ``about`` (one line per language, for prompts); ``foreign`` (the results
are text that neither the user nor the model wrote); ``writes`` with ``question`` and ``is_said`` (the tool changes
memory; ``question`` returns what the user is asked first once the prompt holds text of others, unless the user's own
message says all of it): see ``graph/tool/question/guard.py``. A tool raises ``ToolException`` with a text that the
model can act on. Called with a ``ToolCall``, every tool here answers with a ``ToolMessage``; refused arguments and
``ToolException`` set its ``status`` to «error»."""

MEMORY_TOOLS: tuple[Callable[[MemoryReach], BaseTool], ...] = (
    make_recall_tool,
    make_remember_tool,
    make_forget_tool,
)
"""Made anew for each turn, for they reach the long-term memory of the session that calls them."""


def memory_tools(reach: MemoryReach) -> list[BaseTool]:
    """Returns the long-term memory tools of one turn, for a model that calls tools itself."""
    return [_as_text(make(reach)) for make in MEMORY_TOOLS]


def wish_tools(reach: MemoryReach, near: wish.Near) -> list[BaseTool]:
    """Returns the memory tools for a profile whose tools a router chooses: ``make_remember_tool`` and
    ``make_forget_tool`` take the user's message."""
    return [_as_text(tool) for tool in (make_recall_tool(reach), *wish.make_wish_tools(reach, near))]
