"""tool_node: runs the tools that the model asked for; failures go back to it as text that it can act on."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from langchain_core.messages import AIMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.runtime import Runtime
from pydantic import ValidationError

from graph.call import MALFORMED
from graph.context import shortened
from graph.event import ToolFinished, ToolStarted
from graph.runtime import TurnContext, context, emit
from graph.state import ChatState
from graph.tool.guard import documents_read, refusal
from graph.turns import current, tool_rounds
from model.stream import Stopped
from prompt import render
from text.clean import clean

RESULT_CHARS = 20_000
SHOWN_CHARS = 200


def tool_node(state: ChatState, runtime: Runtime[TurnContext]) -> dict[str, Any]:
    """One result per call, in order; the last that the turn may have says so. Nothing that a tool does can fail it."""
    asked, question = state["messages"][-1], _held(state, context(runtime))
    calls = asked.tool_calls if isinstance(asked, AIMessage) else []
    results = [_run(call, question, runtime) for call in calls]
    if results and tool_rounds(state["messages"]) >= context(runtime).settings.tool_limit:
        last = results[-1]
        over = render("tools_over", state.get("language", "ko"))
        results[-1] = last.model_copy(update={"content": f"{last.text}\n\n{over}"})
    return {"messages": results}


def _held(state: ChatState, turn: TurnContext) -> str | None:
    """The question that the calls are held against (``graph.tool.guard``); None while no document was read."""
    messages = state["messages"]
    return str(current(messages)[0].text) if documents_read(messages, turn.settings) else None


def _run(call: ToolCall, question: str | None, runtime: Runtime[TurnContext]) -> ToolMessage:
    turn, began = context(runtime), time.monotonic()
    started = ToolStarted(str(call["id"]), call["name"], dict(call["args"]))
    emit(runtime, started)
    stopped = turn.stop.is_set()
    answer = _Result("stopped by the user", ok=False) if stopped else _result(call, turn.tools, question)
    text, ok = shortened(clean(answer.text), RESULT_CHARS), answer.ok
    finished = ToolFinished(started.call, started.name, text, ok, time.monotonic() - began, answer.artifact)
    turn.notes.steps.append((started, finished))
    emit(runtime, finished)
    status: Literal["success", "error"] = "success" if ok else "error"
    artifact = answer.artifact
    return ToolMessage(text, tool_call_id=started.call, name=started.name, status=status, artifact=artifact)


@dataclass(frozen=True)
class _Result:
    """A tool's text, whether it is one, and the plain data beside it."""

    text: str
    ok: bool
    artifact: dict[str, Any] | None = None


def _result(call: ToolCall, tools: Sequence[BaseTool], question: str | None) -> _Result:
    tool = next((each for each in tools if each.name == call["name"]), None)
    if tool is None:
        known = ", ".join(each.name for each in tools) or "none"
        return _Result(f"There is no tool {call['name']!r}. Available tools: {known}.", ok=False)
    if MALFORMED in call["args"]:
        written = str(call["args"][MALFORMED])[:SHOWN_CHARS]
        said = f"The arguments of {tool.name} are not a JSON object: {written!r}. Correct them and call again."
        return _Result(said, ok=False)
    if question is not None and (refused := refusal(tool, call["args"], question)):
        return _Result(refused, ok=False)
    try:
        return _answered(tool.invoke({**call, "type": "tool_call"}))
    except Stopped:
        return _Result("stopped by the user", ok=False)
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
        said = f"The arguments of {tool.name} are not valid: {problems}. Correct them and call again."
        return _Result(said, ok=False)
    except Exception as error:  # the boundary to arbitrary tools: the model is told, the turn goes on
        return _Result(f"{tool.name} failed: {error}", ok=False)


def _answered(answer: Any) -> _Result:
    if not isinstance(answer, ToolMessage):
        return _Result(str(answer), ok=True)
    artifact = answer.artifact if isinstance(answer.artifact, dict) else None
    return _Result(str(answer.text), ok=answer.status != "error", artifact=artifact)
