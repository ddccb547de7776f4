"""tool_node: runs the tools that the model asked for; failures go back to it as text that it can act on."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool, ToolException
from langgraph.runtime import Runtime
from pydantic import ValidationError

from graph.call import MALFORMED
from graph.context import shortened
from graph.event import ToolFinished, ToolStarted
from graph.runtime import TurnContext, context, emit
from graph.state import ChatState
from graph.tool import guard
from graph.turns import tool_rounds
from model.stream import Stopped
from prompt import render
from text.clean import clean

RESULT_CHARS = 20_000
SHOWN_CHARS = 200


def tool_node(state: ChatState, runtime: Runtime[TurnContext]) -> dict[str, Any]:
    """One result per call, in order; the last that the turn may have says so. Nothing that a tool does can fail it."""
    asked, turn = state["messages"][-1], context(runtime)
    language = state.get("language", "ko")
    foreign = guard.foreign_read(state["messages"], turn.settings)
    first = render("memory_asked", language) if foreign else None
    calls = asked.tool_calls if isinstance(asked, AIMessage) else []
    results = [_run(call, first, runtime) for call in calls]
    if results and tool_rounds(state["messages"]) >= turn.settings.tool_limit:
        last = results[-1]
        over = render("tools_over", language)
        results[-1] = last.model_copy(update={"content": f"{last.text}\n\n{over}"})
    return {"messages": results}


def _run(call: ToolCall, first: str | None, runtime: Runtime[TurnContext]) -> ToolMessage:
    """One result. ``first``: what the model is told of a write that the user is asked about, None where none is."""
    turn, began = context(runtime), time.monotonic()
    started = ToolStarted(str(call["id"]), call["name"], dict(call["args"]))
    emit(runtime, started)
    tool = next((each for each in turn.tools if each.name == call["name"]), None)
    stopped = turn.stop.is_set()
    answer = _Result("stopped by the user", ok=False) if stopped else _result(call, tool, turn.tools, first)
    text, ok = shortened(clean(answer.text), RESULT_CHARS), answer.ok
    finished = ToolFinished(started.call, started.name, text, ok, time.monotonic() - began, answer.artifact)
    turn.notes.steps.append((started, finished))
    emit(runtime, finished)
    return ToolMessage(
        text,
        tool_call_id=started.call,
        name=started.name,
        status="success" if ok else "error",
        artifact=answer.artifact,
        additional_kwargs=guard.mark(tool) if tool is not None else {},
    )


@dataclass(frozen=True)
class _Result:
    """A tool's text, whether it is one, and the plain data beside it."""

    text: str
    ok: bool
    artifact: dict[str, Any] | None = None


def _result(call: ToolCall, tool: BaseTool | None, tools: Sequence[BaseTool], first: str | None) -> _Result:
    if tool is None:
        known = ", ".join(each.name for each in tools) or "none"
        return _Result(f"There is no tool {call['name']!r}. Available tools: {known}.", ok=False)
    if MALFORMED in call["args"]:
        written = str(call["args"][MALFORMED])[:SHOWN_CHARS]
        said = f"The arguments of {tool.name} are not a JSON object: {written!r}. Correct them and call again."
        return _Result(said, ok=False)
    try:
        if first is not None and (question := guard.held(tool, call["args"])) is not None:
            return _Result(first, ok=True, artifact=question)
        return _answered(tool.invoke({**call, "type": "tool_call"}))
    except Stopped:
        return _Result("stopped by the user", ok=False)
    except ToolException as error:
        return _Result(str(error), ok=False)
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
