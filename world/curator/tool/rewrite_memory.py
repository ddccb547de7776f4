"""The tool that writes the curator's memory anew."""

from __future__ import annotations

from langchain_core.tools import BaseTool, ToolException, tool
from pydantic import BaseModel, Field

from world.curator.desk import Desk
from world.curator.notebook import LIMIT, Unfit, check_memory_text


class RewriteArguments(BaseModel, extra="forbid"):
    """Arguments of ``rewrite_memory``."""

    text: str = Field(description=f"The whole new memory, at most {LIMIT} characters")


def rewrite_memory(desk: Desk) -> BaseTool:
    """Returns the tool ``rewrite_memory`` for one desk."""

    @tool("rewrite_memory", args_schema=RewriteArguments)
    def run_tool(text: str) -> str:
        """Write your whole memory anew. What you leave out is forgotten."""
        try:
            desk.memory = check_memory_text(text)
        except Unfit as error:
            raise ToolException(str(error)) from error
        return f"The memory has {len(desk.memory)} of {LIMIT} characters."

    run_tool.handle_tool_error = True
    return run_tool
