"""The tool that keeps a value in long-term memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.tools import BaseTool, ToolException, tool
from pydantic import BaseModel, Field

from errors import Empty, TooLong
from graph.tool.reach import Reach
from memory.state import KEY_CHARS, VALUE_CHARS, entity

ABOUT = {"ko": "사용자가 기억해 달라고 한 값 적어 두기", "en": "keep a value that the user wants remembered"}


class RememberArguments(BaseModel, extra="forbid"):
    """Arguments of ``remember``."""

    key: str = Field(min_length=1, max_length=KEY_CHARS, description='What it is, such as "travel budget"')
    value: str = Field(min_length=1, max_length=VALUE_CHARS, description='Its value, such as "1,500,000 won"')


def remember(reach: Reach) -> BaseTool:
    """Returns the tool ``remember`` for one turn."""

    @tool("remember", args_schema=RememberArguments)
    def made(key: str, value: str) -> str:
        """Keep a value that the user wants remembered; the same key is overwritten."""
        try:
            written = reach.memory.remember(
                reach.tenant, reach.session, key, value, turn=reach.turn, user=reach.user, patience=reach.patience
            )
        except (Empty, TooLong) as error:
            raise ToolException(str(error)) from error
        return f"Kept in memory: {key} = {value}." + ("" if written else " It can be recalled once the memory is back.")

    made.metadata = {"about": ABOUT, "writes": True, "question": question}
    return made


def question(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what the user is asked before the value is kept (``graph.tool.guard``)."""
    call = RememberArguments.model_validate(arguments)
    stored = entity(call.key, call.value, 0)
    return {"key": stored.key, "value": stored.value}
