"""The tool that searches earlier turns word for word, also those that summaries and memory have left out."""

from __future__ import annotations

from typing import Any

from langchain_core.tools import BaseTool, tool
from pydantic import BaseModel, Field

from graph.tool.guard import FOREIGN
from graph.tool.reach import Reach

QUERY_CHARS = 300
ABOUT = {"ko": "예전에 나눈 말을 날짜와 함께 그대로 찾기", "en": "search earlier turns word for word, with their dates"}


class TurnsArguments(BaseModel, extra="forbid"):
    """Arguments of ``recall_turns``."""

    query: str = Field(
        min_length=1,
        max_length=QUERY_CHARS,
        description='What was talked about, with names and words that were used, such as "hotel in Busan, price"',
    )


def recall_turns(reach: Reach) -> BaseTool:
    """Returns the tool ``recall_turns`` for one turn; it searches with ``Reach.past``."""

    @tool("recall_turns", args_schema=TurnsArguments, response_format="content_and_artifact")
    def made(query: str) -> tuple[str, dict[str, Any] | None]:
        """Search all earlier turns for what was said word for word, and when, also where summaries leave it out."""
        found = reach.past(query)
        return found.text, {FOREIGN: True} if found.foreign else None

    made.metadata = {"about": ABOUT}
    return made
