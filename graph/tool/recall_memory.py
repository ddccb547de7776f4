"""The tool that looks something up in long-term memory, also what has left the context."""

from __future__ import annotations

from langchain_core.tools import BaseTool, tool
from pydantic import BaseModel, Field

from graph.tool.reach import Reach
from prompt import render

QUERY_CHARS = 300
ABOUT = {"ko": "예전에 나눈 이야기 찾기", "en": "look up what was said in the past"}


class RecallArguments(BaseModel, extra="forbid"):
    """Arguments of ``recall_memory``."""

    query: str = Field(
        min_length=1, max_length=QUERY_CHARS, description='What to look for, such as "budget of the Busan trip"'
    )


def recall_memory(reach: Reach, most: int = 8) -> BaseTool:
    """``recall_memory`` for one turn. ``most``: lines that it gives."""

    @tool("recall_memory", args_schema=RecallArguments)
    def made(query: str) -> str:
        """Look up what was said earlier, also in earlier conversations."""
        found = reach.memory.recall(
            reach.tenant, reach.session, query, user=reach.user, limit=most, patience=reach.patience
        )
        if not found:
            return render("memory_recalled_none", reach.language, query=query)
        return render("memory_recalled", reach.language, lines="\n".join(f"- {line}" for line in found))

    made.metadata = {"about": ABOUT}
    return made
