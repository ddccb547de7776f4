"""The tool that shortens live_state.md."""

from __future__ import annotations

from langchain_core.tools import BaseTool, ToolException, tool
from pydantic import BaseModel, Field

from world.curator.correction import leave_names_out
from world.curator.desk import Desk
from world.curator.notebook import Unfit


class ShortenArguments(BaseModel, extra="forbid"):
    """Arguments of ``shorten_live``."""

    names: list[str] = Field(min_length=1, max_length=20, description="Names that no longer matter")
    reason: str = Field(min_length=1, max_length=300, description="Why, one sentence; the user reads it")


def shorten_live(desk: Desk) -> BaseTool:
    """Returns the tool ``shorten_live`` for one desk."""

    @tool("shorten_live", args_schema=ShortenArguments)
    def run_tool(names: list[str], reason: str) -> str:
        """Leave names out of the state that the narrator reads: dead or absent people, lost things, places that the
        story has left behind. The tables keep them; they are shown again when they come into play."""
        try:
            desk.mend(", ".join(names), reason, *leave_names_out(desk.state, names))
        except Unfit as error:
            raise ToolException(str(error)) from error
        return "They are left out."

    run_tool.handle_tool_error = True
    return run_tool
