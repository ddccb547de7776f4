"""tool_node: runs the tools that the model asked for; failures go back to it as text that it can act on."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.runtime import Runtime
from pydantic import ValidationError

from graph.call import MALFORMED
from graph.event import ToolFinished, ToolStarted
from graph.runtime import TurnContext, context, emit
from graph.state import ChatState
from text.clean import clean

RESULT_CHARS = 20_000
SHOWN_CHARS = 200


def tool_node(state: ChatState, runtime: Runtime[TurnContext]) -> dict[str, Any]:
    """One result per call, in order. Nothing that a tool does can fail the turn."""
    asked = state["messages"][-1]
    calls = asked.tool_calls if isinstance(asked, AIMessage) else []
    return {"messages": [_run(call, runtime) for call in calls]}


def _run(call: ToolCall, runtime: Runtime[TurnContext]) -> ToolMessage:
    turn, began = context(runtime), time.monotonic()
    started = ToolStarted(str(call["id"]), call["name"], dict(call["args"]))
    emit(runtime, started)
    text, ok = ("stopped by the user", False) if turn.stop.is_set() else _result(call, turn.tools)
    text = clean(text)
    if len(text) > RESULT_CHARS:
        text = f"{text[:RESULT_CHARS]}\n… ({len(text) - RESULT_CHARS:,} more characters were left out)"
    finished = ToolFinished(started.call, started.name, text, ok, time.monotonic() - began)
    turn.notes.steps.append((started, finished))
    emit(runtime, finished)
    return ToolMessage(text, tool_call_id=started.call, name=started.name, status="success" if ok else "error")


def _result(call: ToolCall, tools: Sequence[BaseTool]) -> tuple[str, bool]:
    tool = next((each for each in tools if each.name == call["name"]), None)
    if tool is None:
        known = ", ".join(each.name for each in tools) or "none"
        return f"There is no tool {call['name']!r}. Available tools: {known}.", False
    if MALFORMED in call["args"]:
        written = str(call["args"][MALFORMED])[:SHOWN_CHARS]
        return f"The arguments of {tool.name} are not a JSON object: {written!r}. Correct them and call again.", False
    try:
        answer = tool.invoke({**call, "type": "tool_call"})
        return (str(answer.text), answer.status != "error") if isinstance(answer, ToolMessage) else (str(answer), True)
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
        return f"The arguments of {tool.name} are not valid: {problems}. Correct them and call again.", False
    except Exception as error:  # the boundary to arbitrary tools: the model is told, the turn goes on
        return f"{tool.name} failed: {error}", False
