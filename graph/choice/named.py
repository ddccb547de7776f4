"""A foreign tool that the user names, for a model that does not call tools itself: «/tool weather__forecast Seoul».

The router knows no foreign tool, and the forms of many would fill a small model's prompt. So the user names one, and
the model writes its arguments in the shape of the tool's schema (specification 14.1).
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from errors import EmptyAnswer
from model.call.json_reply import build_response_format, complete_shaped, find_json_objects
from model.call.stream import Model
from prompt import render_prompt

REPLY_TOKENS = 400
SCHEMA_CHARS = 4_000
ABOUT_CHARS = 400
_NAMED = re.compile(r"/tool\s+([A-Za-z0-9_-]{1,64})(?:\s+(.*))?", re.DOTALL)


def read_named_tool(text: str) -> tuple[str, str] | None:
    """Returns the name of the tool that a message begins with, and the rest of the message; None when it names none."""
    match = _NAMED.fullmatch(text.strip())
    return (match[1], (match[2] or "").strip()) if match else None


def tool_of(text: str, tools: Sequence[BaseTool]) -> tuple[BaseTool, str] | None:
    """Returns the offered tool that a message names, and the rest of the message."""
    found = read_named_tool(text)
    tool = next((tool for tool in tools if found and tool.name == found[0]), None)
    return (tool, found[1]) if tool is not None and found is not None else None


def build_arguments_prompt(
    tool: BaseTool, wish: str, language: str, conversation: Sequence[AnyMessage]
) -> list[AnyMessage]:
    """Returns the messages that ask for the arguments. They stand behind the ``conversation``, so that the server can
    go on from what it has evaluated."""
    schema = json.dumps(build_argument_schema(tool), ensure_ascii=False)[:SCHEMA_CHARS]
    about = tool.description[:ABOUT_CHARS]
    asked = render_prompt("named_arguments", language, tool=tool.name, about=about, schema=schema)
    return [*conversation, SystemMessage(asked), HumanMessage(wish or tool.name)]


def build_argument_schema(tool: BaseTool) -> dict[str, Any]:
    """Returns the schema of the tool's arguments."""
    schema: dict[str, Any] = convert_to_openai_tool(tool)["function"].get("parameters") or {}
    return schema


def ask_model_arguments(
    model: Model, tool: BaseTool, messages: Sequence[AnyMessage], stop: threading.Event | None
) -> tuple[AIMessage | None, dict[str, Any]]:
    """Returns the model's reply to ``build_arguments_prompt`` and the arguments in it; no arguments when there are none
    to read.

    Raises ``Stopped`` and the errors of the model's server.
    """
    form = build_response_format("arguments", build_argument_schema(tool))
    try:
        reply = complete_shaped(model, list(messages), form, stop=stop, temperature=0, max_tokens=REPLY_TOKENS)
    except EmptyAnswer:
        return None, {}
    return reply, next(find_json_objects(str(reply.text)), {})
