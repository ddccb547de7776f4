"""The tool that changes a passage of the curator's memory."""

from __future__ import annotations

from langchain_core.tools import BaseTool, ToolException, tool
from pydantic import BaseModel, Field

from world.curator.desk import Desk
from world.curator.notebook import LIMIT, Unfit, edit_memory_text


class EditArguments(BaseModel, extra="forbid"):
    """Arguments of ``edit_memory``."""

    old: str = Field(max_length=LIMIT, description="Text that stands in the memory once; empty to add at its end")
    new: str = Field(max_length=LIMIT, description="Text in its place; empty to remove it")


def edit_memory(desk: Desk) -> BaseTool:
    """Returns the tool ``edit_memory`` for one desk."""

    @tool("edit_memory", args_schema=EditArguments)
    def run_tool(old: str, new: str) -> str:
        """Replace a passage of your memory, remove it, or add one at the end."""
        try:
            desk.memory = edit_memory_text(desk.memory, old, new)
        except Unfit as error:
            raise ToolException(str(error)) from error
        return f"The memory has {len(desk.memory)} of {LIMIT} characters."

    run_tool.handle_tool_error = True
    return run_tool
