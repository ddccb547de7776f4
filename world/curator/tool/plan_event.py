"""The tool that plans an event of the story."""

from __future__ import annotations

from langchain_core.tools import BaseTool, ToolException, tool
from pydantic import BaseModel, Field

from world.curator.desk import Desk
from world.curator.notebook import LIMIT, Unfit, with_event


class EventArguments(BaseModel, extra="forbid"):
    """Arguments of ``plan_event``."""

    turn: int = Field(ge=1, description="Number of the turn about which it is to happen")
    description: str = Field(min_length=1, max_length=200, description="What happens, one sentence")


def plan_event(desk: Desk) -> BaseTool:
    """Returns the tool ``plan_event`` for one desk."""

    @tool("plan_event", args_schema=EventArguments)
    def run_tool(turn: int, description: str) -> str:
        """Plan an event, such as a foreshadowing that comes true. The narrator is told of it shortly before its turn;
        it is kept in the memory as a line «- [turn] description»."""
        if turn <= desk.node.turn:
            raise ToolException(f"Turn {turn} is over: the last turn is {desk.node.turn}.")
        try:
            desk.memory = with_event(desk.memory, turn, description)
        except Unfit as error:
            raise ToolException(str(error)) from error
        return f"Planned. The memory has {len(desk.memory)} of {LIMIT} characters."

    run_tool.handle_tool_error = True
    return run_tool
