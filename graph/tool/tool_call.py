"""Tool calls in a form that the state can store, whatever a model sends."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessageChunk, ToolCall

from text.clean import clean_text

MALFORMED = "malformed arguments"
"""Name of the one argument of a call whose arguments are not a JSON object; the value is the model's text."""

_MOST = 2**63 - 1
"""The largest whole number that msgpack takes."""
_DEEPEST = 32
"""Deepest nesting of lists and objects: more than a tool's schema has, far less than msgpack and recursion take."""


_REPEATED = re.compile(r"^(\w{3,}?)\1+$")
"""Matches a name that a server repeats with every piece of the arguments; LangChain joins the pieces of a name."""


def make_call(name: str, arguments: dict[str, Any]) -> ToolCall:
    """Returns a call that code makes, or reads in a model's text, with an id of its own."""
    return ToolCall(name=name, args=arguments, id=uuid4().hex, type="tool_call")


def calls_of(answer: AIMessageChunk) -> list[ToolCall]:
    """Returns the calls of a model's answer, also those with malformed arguments, so that the model is told of them."""
    broken = [
        ToolCall(name=str(call["name"] or ""), args={MALFORMED: str(call["args"] or "")}, id=call["id"])
        for call in answer.invalid_tool_calls
    ]
    return make_storable_calls([*answer.tool_calls, *broken])


def make_storable_calls(calls: Sequence[ToolCall]) -> list[ToolCall]:
    """Returns the calls, each with an id of its own, and with arguments that JSON and msgpack take: some servers give
    several calls one id, which would give them one result."""
    made, taken = list[ToolCall](), set[str]()
    for call in calls:
        name, id_ = _REPEATED.sub(r"\1", clean_text(call["name"])), clean_text(call["id"] or "")
        if not id_ or id_ in taken:
            id_ = f"call_{uuid4().hex[:12]}"
        taken.add(id_)
        made.append(ToolCall(name=name, args=_make_storable_value(call["args"]), id=id_, type="tool_call"))
    return made


def _make_storable_value(value: Any, depth: int = 0) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict | list) and depth == _DEEPEST:
        return "(nested too deep)"
    if isinstance(value, dict):
        return {clean_text(str(key)): _make_storable_value(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_make_storable_value(item, depth + 1) for item in value]
    too_large = isinstance(value, int) and abs(value) > _MOST
    return str(value) if too_large or (isinstance(value, float) and not math.isfinite(value)) else value
