"""The tool that looks something up in long-term memory, also what has left the context."""

from __future__ import annotations

from typing import Any

from langchain_core.tools import BaseTool, tool
from pydantic import BaseModel, Field

from graph.tool.reach import Reach, cue
from prompt import render

QUERY_CHARS = 300


class RecallArguments(BaseModel, extra="forbid"):
    """Arguments of ``recall_memory``."""

    query: str = Field(max_length=QUERY_CHARS, description='What to look for, such as "budget of the Busan trip"')


def recall_memory(reach: Reach) -> BaseTool:
    """``recall_memory`` for one turn."""

    @tool("recall_memory", args_schema=RecallArguments)
    def made(query: str) -> str:
        """Look up what was said earlier, also in earlier conversations."""
        found = reach.memory.recall(reach.tenant, reach.session, query, user=reach.user, patience=reach.patience)
        if not found:
            return f"Nothing about {query!r} is in memory."
        return render("memory_recalled", reach.language, lines="\n".join(f"- {line}" for line in found))

    made.metadata = METADATA
    return made


def ground(arguments: dict[str, Any], question: str) -> dict[str, Any]:
    """An empty query means the question."""
    return arguments if str(arguments.get("query", "")).strip() else {"query": question[:QUERY_CHARS]}


METADATA: dict[str, Any] = {
    "cue": cue(
        r"기억(이)?\s?(안\s?)?(나|하니|하고 있|하지|에\s?있)",
        r"잊어\s?(버렸|버린|먹었|먹은)|잊었|까먹었",
        r"\bi(['’]ve)? ((always|often|keep|just) )?(forget|forgot|forgotten)\b",
        r"지난\s?번|예전에|전에 (말|얘기|이야기)|처음에 (말|얘기|이야기)",
        r"(였|했|었|렸|갔|샀)(지|더라|나)\b",
        r"\b(do|can|did) you (still )?(remember|recall)\b",
        r"\blast time\b|\bearlier\b|\bi (once )?(told|said|mentioned)\b|\bdid (i|we) (say|mention|agree|decide)\b",
    ),
    "ground": ground,
    "about": {"ko": "예전에 나눈 이야기 찾기", "en": "look up what was said in the past"},
    "examples": {
        "ko": [
            ("지난번에 말한 부산 여행 예산 기억나?", {"query": "부산 여행 예산"}),
            ("처음에 말한 출시 날짜가 언제였지?", {"query": "출시 날짜"}),
        ],
        "en": [
            ("Do you remember the budget of my Busan trip?", {"query": "budget of the Busan trip"}),
            ("When was the release date that I mentioned last time?", {"query": "release date"}),
        ],
    },
}
