"""The tool that keeps a value in long-term memory."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from langchain_core.tools import BaseTool, ToolException, tool
from pydantic import BaseModel, Field

from errors import Empty, TooLong
from graph.tool.own_words import is_stated
from graph.tool.reach import MemoryReach
from memory.state import KEY_CHARS, VALUE_CHARS, make_memory_entity, same_key

SHORT_KEY, SHORT_KEY_WORDS = 30, 3
"""Characters and words of a key that the user need not have written: too few for an instruction."""
ABOUT = {"ko": "사용자가 기억해 달라고 한 값 적어 두기", "en": "keep a value that the user wants remembered"}


class RememberToolArguments(BaseModel, extra="forbid"):
    """Arguments of ``remember``."""

    key: str = Field(min_length=1, max_length=KEY_CHARS, description='What it is, such as "travel budget"')
    value: str = Field(min_length=1, max_length=VALUE_CHARS, description='Its value, such as "1,500,000 won"')


def make_remember_tool(reach: MemoryReach) -> BaseTool:
    """Returns the tool ``remember`` for one turn."""

    @tool("remember", args_schema=RememberToolArguments)
    def pin_value(key: str, value: str) -> str:
        """Keep a value that the user wants remembered; the same key is overwritten."""
        try:
            reach.memory.writer.remember(reach.tenant, reach.session, key, value, turn=reach.turn, user=reach.user)
        except (Empty, TooLong) as error:
            raise ToolException(str(error)) from error
        return f"Kept in memory: {key} = {value}."

    pin_value.metadata = {
        "about": ABOUT,
        "writes": True,
        "question": build_remember_question,
        "is_said": partial(states_value, reach),
    }
    return pin_value


def build_remember_question(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what the user is asked before the value is kept (``graph.tool.question.guard``)."""
    call = RememberToolArguments.model_validate(arguments)
    stored = make_memory_entity(call.key, call.value, 0)
    return {"key": stored.key, "value": stored.value}


def states_value(reach: MemoryReach, arguments: Mapping[str, Any], message: str) -> bool:
    """Returns whether the user's message says the value, under a key that is the user's or short, and nothing that
    memory holds is replaced (``graph.tool.question.guard``)."""
    call = RememberToolArguments.model_validate(arguments)
    new = make_memory_entity(call.key, call.value, 0)
    is_short = len(new.key) <= SHORT_KEY and len(new.key.split()) <= SHORT_KEY_WORDS
    if not is_stated(message, new.value) or not (is_short or is_stated(message, new.key)):
        return False
    known = reach.memory.reader.read_lines(reach.tenant, reach.session, user=reach.user)
    valued = [line.text for line in known if line.kind in ("profile", "entity")]
    return all(text == new.line for text in valued if same_key(text.partition(": ")[0]) == same_key(new.key))
