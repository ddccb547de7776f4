"""The tool that searches everything said before, word for word: with another query than the question, on one day, or in
one conversation."""

from __future__ import annotations

from typing import Any

from langchain_core.tools import BaseTool, tool
from pydantic import BaseModel, Field

from graph.context.past import QUOTED, RECALL
from graph.tool.question.guard import FOREIGN
from graph.tool.reach import MemoryReach
from retrieval.answer.tool import QUOTABLE

QUERY_CHARS = 300
TURNS = "turns"
"""The field of the artifact with the turns of the result, in the order of their marks."""
ABOUT = {"ko": "예전에 나눈 말을 날짜와 함께 그대로 찾기", "en": "search what was said before, word for word, by day"}


class RecallToolArguments(BaseModel, extra="forbid"):
    """Arguments of ``recall``."""

    query: str = Field(
        min_length=1,
        max_length=QUERY_CHARS,
        description='What was talked about, with names and words that were used, such as "hotel in Busan, price"',
    )
    day: str = Field(
        "",
        pattern=r"^(\d{4}(-\d{2}(-\d{2})?)?)?$",
        description='Only what was said then: "2026-03-05", a month "2026-03" or a year "2026"',
    )
    conversation: str = Field(
        "", max_length=200, description="Only the conversation whose title has these words, where the user names one"
    )


def make_recall_tool(reach: MemoryReach) -> BaseTool:
    """Returns the tool ``recall`` for one turn; it searches with ``MemoryReach.past``, or gives the quotation that is
    there already (``MemoryReach.quoted``)."""

    @tool(RECALL, args_schema=RecallToolArguments, response_format="content_and_artifact")
    def recall_turns(query: str, day: str = "", conversation: str = "") -> tuple[str, dict[str, Any] | None]:
        """Search all that was said before, also in other conversations, where the turns given with the question do not
        hold the answer: with other words, or on one day, or in one conversation."""
        if (quoted := reach.quoted) is not None:
            return quoted.text, {TURNS: [*quoted.items], QUOTED: True}
        found = reach.past(query, day, conversation)
        artifact = {TURNS: [*found.items]} if found.items else {}
        return found.text, {**artifact, FOREIGN: True} if found.foreign else artifact or None

    recall_turns.metadata = {"about": ABOUT, QUOTABLE: lambda question: reach.quoted is not None}
    return recall_turns
