"""Tool calls as the state can keep them, whatever a model sends."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessageChunk, ToolCall

from text.clean import clean

MALFORMED = "malformed arguments"
"""The one argument of a call whose arguments are no JSON object: what the model wrote instead."""

_MOST = 2**63 - 1
"""The largest whole number that msgpack takes."""
_DEEPEST = 32
"""Lists and objects in one another: more than any tool's schema has, and far less than msgpack and recursion take."""


_REPEATED = re.compile(r"^(\w{3,}?)\1+$")
"""A name that a server repeats with every piece of the arguments; pieces of names are joined."""


def calls_of(answer: AIMessageChunk) -> list[ToolCall]:
    """The calls of a model's answer, those with malformed arguments too, so that the model is told."""
    broken = [
        ToolCall(name=str(each["name"] or ""), args={MALFORMED: str(each["args"] or "")}, id=each["id"])
        for each in answer.invalid_tool_calls
    ]
    return storable([*answer.tool_calls, *broken])


def storable(calls: Sequence[ToolCall]) -> list[ToolCall]:
    """The calls with an id each, and with arguments that JSON and msgpack take."""
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
        return {clean(str(key)): _plain(each, depth + 1) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each, depth + 1) for each in value]
    too_large = isinstance(value, int) and abs(value) > _MOST
    return str(value) if too_large or (isinstance(value, float) and not math.isfinite(value)) else value
