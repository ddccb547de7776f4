"""The tool that shows turns word for word."""

from __future__ import annotations

from langchain_core.tools import BaseTool, ToolException, tool
from pydantic import BaseModel, Field

from world.curator.desk import Desk
from world.curator.material import frame_material, render_curated_turns

MOST = 10
"""The most turns of one call."""


class TurnsArguments(BaseModel, extra="forbid"):
    """Arguments of ``read_turns``."""

    first: int = Field(ge=0, description="Number of the first turn")
    last: int = Field(ge=0, description=f"Number of the last turn; at most {MOST} turns at once")


def read_turns(desk: Desk) -> BaseTool:
    """Returns the tool ``read_turns`` for one desk."""

    @tool("read_turns", args_schema=TurnsArguments)
    def run_tool(first: int, last: int) -> str:
        """Read turns of the story word for word: what the player wrote and what the narrator told."""
        last = min(last, first + MOST - 1)
        nodes = desk.turns(first, last)
        if not nodes:
            raise ToolException(f"There are no turns {first} to {last}; the last turn is {desk.node.turn}.")
        return frame_material({"turns": render_curated_turns(nodes, desk.chars)})

    run_tool.handle_tool_error = True
    return run_tool
