"""The tool that replaces the lines of many turns by a short story."""

from __future__ import annotations

from langchain_core.tools import BaseTool, ToolException, tool
from pydantic import BaseModel, Field

from world.curator.desk import Desk
from world.curator.notebook import Unfit
from world.curator.story import SHORT


class StoryArguments(BaseModel, extra="forbid"):
    """Arguments of ``shorten_story``."""

    text: str = Field(description=f"The whole story so far, at most {SHORT} characters")


def shorten_story(desk: Desk) -> BaseTool:
    """Returns the tool ``shorten_story`` for one desk."""

    @tool("shorten_story", args_schema=StoryArguments)
    def run_tool(text: str) -> str:
        """Replace the story so far, the shortened text and the lines of its turns, by a new short text."""
        try:
            desk.shorten(text)
        except Unfit as error:
            raise ToolException(str(error)) from error
        return "The story is shortened."

    run_tool.handle_tool_error = True
    return run_tool
