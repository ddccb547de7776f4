"""tool_node: runs the tools that the model asked for; a failure goes back to the model as text that it can act on."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import ToolCall, ToolMessage
from langchain_core.tools import BaseTool, ToolException
from langgraph.runtime import Runtime
from pydantic import ValidationError

from graph.context.prompt import shortened
from graph.context.turns import open_calls, tool_rounds
from graph.state import ChatState
from graph.tool import guard
from graph.tool.asking import asked_before, with_answers
from graph.tool.guard import is_foreign
from graph.tool.time import at
from graph.tool.tool_call import MALFORMED
from graph.turn.event import ToolFinished, ToolStarted
from graph.turn.runtime import TurnContext, context, emit
from model.call.stream import Stopped
from prompt import render
from store.question import Answer, Question, Waiting, answer
from text.clean import clean

RESULT_CHARS = 20_000
SHOWN_CHARS = 200


def tool_node(state: ChatState, runtime: Runtime[TurnContext]) -> dict[str, Any]:
    """Returns the results of the calls that have none yet, in order; in the last round of the turn, the last result
    says so. A tool that fails does not fail the node; what a tool wants to know from the user goes to ``ask_node``."""
    turn, language, rounds = context(runtime), state.get("language", "ko"), tool_rounds(state["messages"])
    foreign = guard.foreign_read(state["messages"], turn.settings)
    first = render("memory_asked", language) if foreign else None
    answers = {id_: answer(plain) for id_, plain in (state.get("answers") or {}).items()}
    calls = [_Call(call, f"{rounds}.{call['id']}", turn, answers, first) for call in open_calls(state["messages"])]
    outcomes = [_run(call, runtime) for call in calls]
    results = [outcome for outcome in outcomes if isinstance(outcome, ToolMessage)]
    asked = [question.plain() for outcome in outcomes if isinstance(outcome, Waiting) for question in outcome.questions]
    if results and not asked and rounds >= turn.settings.tool_limit:
        last = results[-1]
        notice = render("tools_over", language)
        results[-1] = last.model_copy(update={"content": f"{last.text}\n\n{notice}"})
    return {"messages": results, **({"asked": asked} if asked else {})}


@dataclass(frozen=True)
class _Call:
    """One call. ``key``: unique within the turn, which the model's ids are not; ``answers``: the user's, in this turn.

    ``first``: the text that the model gets when the user must confirm a write first; None when no write needs that.
    """

    call: ToolCall
    key: str
    turn: TurnContext
    answers: Mapping[str, Answer]
    first: str | None

    @property
    def tool(self) -> BaseTool | None:
        return next((tool for tool in self.turn.inputs.tools if tool.name == self.call["name"]), None)

    def invoked(self, tool: BaseTool) -> Any:
        """Runs the tool; it finds the clock and the user's answers in its configuration."""
        return tool.invoke({**self.call, "type": "tool_call"}, with_answers(at(self.turn.now), self.key, self.answers))


@dataclass(frozen=True)
class _Result:
    """The outcome of a tool call: a text, whether the call succeeded, and plain data beside the text."""

    text: str
    ok: bool
    artifact: dict[str, Any] | None = None


_STOPPED = _Result("stopped by the user", ok=False)
_REFUSED = _Result("The user said no. Go on without it.", ok=False)
_CANNOT_ASK = _Result("The user must allow this tool first, and can do so only in the app.", ok=False)


def _run(call: _Call, runtime: Runtime[TurnContext]) -> ToolMessage | Waiting:
    """Runs one call and returns its result, or what its tool wants to know from the user first."""
    turn, began, tool = call.turn, time.monotonic(), call.tool
    before = None if call.key in call.answers else asked_before(call.call, call.key, turn.inputs.tools)
    if before is not None and turn.inputs.asks and not turn.channel.stopped:
        return Waiting([before])
    started = ToolStarted(str(call.call["id"]), call.call["name"], dict(call.call["args"]))
    emit(runtime, started)
    result = _outcome(call, before)
    if isinstance(result, Waiting):
        return result
    text, ok, foreign = shortened(clean(result.text), RESULT_CHARS), result.ok, is_foreign(tool, result.artifact)
    finished = ToolFinished(started.call, started.name, text, ok, time.monotonic() - began, result.artifact, foreign)
    turn.notes.steps.append((started, finished))
    emit(runtime, finished)
    return ToolMessage(
        text,
        tool_call_id=started.call,
        name=started.name,
        status="success" if ok else "error",
        artifact=result.artifact,
        additional_kwargs=guard.mark(foreign),
    )


def _outcome(call: _Call, before: Question | None) -> _Result | Waiting:
    """Returns the result of a call that need not, or cannot, ask. ``before``: what it would have asked."""
    if call.turn.channel.stopped:
        return _STOPPED
    if before is not None:
        return _CANNOT_ASK
    given = call.answers.get(call.key)
    return _REFUSED if given is not None and given.action == "no" else _result(call)


def _result(call: _Call) -> _Result | Waiting:
    tool, arguments = call.tool, call.call["args"]
    if tool is None:
        known = ", ".join(offered.name for offered in call.turn.inputs.tools) or "none"
        return _Result(f"There is no tool {call.call['name']!r}. Available tools: {known}.", ok=False)
    if MALFORMED in arguments:
        written = str(arguments[MALFORMED])[:SHOWN_CHARS]
        text = f"The arguments of {tool.name} are not a JSON object: {written!r}. Correct them and call again."
        return _Result(text, ok=False)
    try:
        if call.first is not None and (question := guard.held(tool, arguments)) is not None:
            return _Result(call.first, ok=True, artifact=question)
        return _answered(call.invoked(tool))
    except Waiting as waiting:
        return waiting
    except Stopped:
        return _STOPPED
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
