"""The tool that searches long-term memory, also for text that has left the context."""

from __future__ import annotations

from langchain_core.tools import BaseTool, tool
from pydantic import BaseModel, Field

from graph.tool.reach import Reach
from memory.recollect import Near
from prompt import render
from store.search import head

QUERY_CHARS = 300
ABOUT = {"ko": "예전에 나눈 이야기 찾기", "en": "look up what was said in the past"}


class RecallArguments(BaseModel, extra="forbid"):
    """Arguments of ``recall_memory``."""

    query: str = Field(
        min_length=1, max_length=QUERY_CHARS, description='What to look for, such as "budget of the Busan trip"'
    )


def recall_memory(reach: Reach, most: int = 8, chars: int | None = None, near: Near | None = None) -> BaseTool:
    """Returns the tool ``recall_memory`` for one turn. ``most``: most lines of a result. ``chars``: characters of a
    line; None gives whole lines, also of the assistant: a small model takes its own earlier words for the answer."""

    @tool("recall_memory", args_schema=RecallArguments)
    def made(query: str) -> str:
        """Look up what was said earlier, also in earlier conversations."""
        recalled = reach.memory.recall(
            reach.tenant,
            reach.session,
            query,
            user=reach.user,
            limit=most,
            answers=chars is None,
            near=near,
            patience=reach.patience,
        )
        if not recalled:
            return render("memory_recalled_none", reach.language, query=query)
        return render("memory_recalled", reach.language, lines="\n".join(f"- {_cut(line, chars)}" for line in recalled))

    made.metadata = {"about": ABOUT}
    return made


def _cut(line: str, chars: int | None) -> str:
    return line if chars is None or len(line) <= chars else f"{head(line, chars)}…"
