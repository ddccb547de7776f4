"""Tool calls in a form that the state can store, whatever a model sends."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessageChunk, ToolCall

from text.clean import clean

MALFORMED = "malformed arguments"
"""Name of the one argument of a call whose arguments are not a JSON object; the value is the model's text."""

_MOST = 2**63 - 1
"""The largest whole number that msgpack takes."""
_DEEPEST = 32
"""Deepest nesting of lists and objects: more than a tool's schema has, far less than msgpack and recursion take."""


_REPEATED = re.compile(r"^(\w{3,}?)\1+$")
"""Matches a name that a server repeats with every piece of the arguments; LangChain joins the pieces of a name."""


def calls_of(answer: AIMessageChunk) -> list[ToolCall]:
    """Returns the calls of a model's answer, also those with malformed arguments, so that the model is told of them."""
    broken = [
        ToolCall(name=str(call["name"] or ""), args={MALFORMED: str(call["args"] or "")}, id=call["id"])
        for call in answer.invalid_tool_calls
    ]
    return storable([*answer.tool_calls, *broken])


def storable(calls: Sequence[ToolCall]) -> list[ToolCall]:
    """Returns the calls, each with an id, and with arguments that JSON and msgpack take."""
    return [
        ToolCall(
            name=_REPEATED.sub(r"\1", clean(call["name"])),
            args=_plain(call["args"]),
            id=clean(call["id"] or "") or f"call_{uuid4().hex[:12]}",
            type="tool_call",
        )
        for call in calls
    ]


def _plain(value: Any, depth: int = 0) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict | list) and depth == _DEEPEST:
        return "(nested too deep)"
    if isinstance(value, dict):
        return {clean(str(key)): _plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item, depth + 1) for item in value]
    too_large = isinstance(value, int) and abs(value) > _MOST
    return str(value) if too_large or (isinstance(value, float) and not math.isfinite(value)) else value
