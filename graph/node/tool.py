"""tool_node: runs the tools that the model asked for; a failure goes back to the model as text that it can act on."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool, ToolException
from langgraph.runtime import Runtime
from pydantic import ValidationError

from graph.context.prompt import shortened
from graph.context.turns import tool_rounds
from graph.state import ChatState
from graph.tool import guard
from graph.tool.time import at
from graph.tool.tool_call import MALFORMED
from graph.turn.event import ToolFinished, ToolStarted
from graph.turn.runtime import TurnContext, context, emit
from model.call.stream import Stopped
from prompt import render
from text.clean import clean

RESULT_CHARS = 20_000
SHOWN_CHARS = 200


def tool_node(state: ChatState, runtime: Runtime[TurnContext]) -> dict[str, Any]:
    """Returns one result per call, in order; in the last round of the turn, the last result says so. A tool that fails
    does not fail the node."""
    message, turn = state["messages"][-1], context(runtime)
    language = state.get("language", "ko")
    foreign = guard.foreign_read(state["messages"], turn.settings)
    first = render("memory_asked", language) if foreign else None
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    results = [_run(call, first, runtime) for call in calls]
    if results and tool_rounds(state["messages"]) >= turn.settings.tool_limit:
        last = results[-1]
        notice = render("tools_over", language)
        results[-1] = last.model_copy(update={"content": f"{last.text}\n\n{notice}"})
    return {"messages": results}


def _run(call: ToolCall, first: str | None, runtime: Runtime[TurnContext]) -> ToolMessage:
    """Runs one call and returns its result. ``first``: the text that the model gets when the user must confirm a write
    first; None when no write needs that."""
    turn, began = context(runtime), time.monotonic()
    started = ToolStarted(str(call["id"]), call["name"], dict(call["args"]))
    emit(runtime, started)
    tool = next((candidate for candidate in turn.inputs.tools if candidate.name == call["name"]), None)
    stopped = turn.channel.stopped
    answer = _Result("stopped by the user", ok=False) if stopped else _result(call, tool, turn, first)
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
    """The outcome of a tool call: a text, whether the call succeeded, and plain data beside the text."""

    text: str
    ok: bool
    artifact: dict[str, Any] | None = None


def _result(call: ToolCall, tool: BaseTool | None, turn: TurnContext, first: str | None) -> _Result:
    if tool is None:
        known = ", ".join(offered.name for offered in turn.inputs.tools) or "none"
        return _Result(f"There is no tool {call['name']!r}. Available tools: {known}.", ok=False)
    if MALFORMED in call["args"]:
        written = str(call["args"][MALFORMED])[:SHOWN_CHARS]
        text = f"The arguments of {tool.name} are not a JSON object: {written!r}. Correct them and call again."
        return _Result(text, ok=False)
    try:
        if first is not None and (question := guard.held(tool, call["args"])) is not None:
            return _Result(first, ok=True, artifact=question)
        return _answered(tool.invoke({**call, "type": "tool_call"}, at(turn.now)))
    except Stopped:
        return _Result("stopped by the user", ok=False)
    except ToolException as error:
        return _Result(str(error), ok=False)
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
        text = f"The arguments of {tool.name} are not valid: {problems}. Correct them and call again."
        return _Result(text, ok=False)
    except Exception as error:  # a tool may raise anything: the model gets the error, and the turn goes on
        return _Result(f"{tool.name} failed: {error}", ok=False)


def _answered(answer: Any) -> _Result:
    if not isinstance(answer, ToolMessage):
        return _Result(str(answer), ok=True)
    artifact = answer.artifact if isinstance(answer.artifact, dict) else None
    return _Result(str(answer.text), ok=answer.status != "error", artifact=artifact)
