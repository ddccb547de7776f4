"""The tool that reports a contradiction to the user."""

from __future__ import annotations

from langchain_core.tools import BaseTool, ToolException, tool
from pydantic import BaseModel, Field

from store.world.record import FindingKind
from world.curator.desk import Desk
from world.curator.notebook import Unfit


class FindingArguments(BaseModel, extra="forbid"):
    """Arguments of ``report_finding``."""

    kind: FindingKind = Field(
        description="dead_talks: a dead character acts; no_hp_fights: somebody with 0 HP fights on; two_places:"
        " somebody is at two places at once; lost_item: a thing that was lost is in use; other"
    )
    subject: str = Field(min_length=1, max_length=100, description="Name of the person or thing, as the tables have it")
    text: str = Field(min_length=1, max_length=500, description="What contradicts what, with both turns, one sentence")


def report_finding(desk: Desk) -> BaseTool:
    """Returns the tool ``report_finding`` for one desk."""

    @tool("report_finding", args_schema=FindingArguments)
    def run_tool(kind: FindingKind, subject: str, text: str) -> str:
        """Report a contradiction in the story that is not intended."""
        try:
            desk.note(kind, subject, text)
        except Unfit as error:
            raise ToolException(str(error)) from error
        return "Reported."

    run_tool.handle_tool_error = True
    return run_tool
