"""The tool that corrects a row of the tables."""

from __future__ import annotations

from langchain_core.tools import BaseTool, ToolException, tool
from pydantic import BaseModel, Field

from world.curator.correction import CorrectedField, correct_row
from world.curator.desk import Desk
from world.curator.notebook import Unfit


class CorrectArguments(BaseModel, extra="forbid"):
    """Arguments of ``correct_table``."""

    subject: str = Field(min_length=1, max_length=80, description="Person, thing or place, as the tables have it")
    field: CorrectedField = Field(
        description="location, hp, status or companion of a person; count or status (held, lost) of a thing;"
        " status of a place; strength or type of a relation; time of the story, such as: day 2, evening"
    )
    value: str = Field(min_length=1, max_length=80, description="The right value")
    other: str = Field(default="", max_length=80, description="To whom, for a relation")
    reason: str = Field(min_length=1, max_length=300, description="Which turn tells it; the user reads it")


def correct_table(desk: Desk) -> BaseTool:
    """Returns the tool ``correct_table`` for one desk."""

    @tool("correct_table", args_schema=CorrectArguments)
    def run_tool(subject: str, field: CorrectedField, value: str, reason: str, other: str = "") -> str:
        """Correct one value of the tables that the turns clearly tell otherwise. The user sees it and can undo it."""
        try:
            desk.mend(subject, reason, *correct_row(desk.state, subject, field, value, other))
        except Unfit as error:
            raise ToolException(str(error)) from error
        return "Corrected."

    run_tool.handle_tool_error = True
    return run_tool
