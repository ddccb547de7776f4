"""tool_node: runs the tools that the model asked for; a failure goes back to the model as text that it can act on."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AnyMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool, ToolException
from langgraph.runtime import Runtime
from pydantic import ValidationError

from graph.context.turns import build_call_key, is_circling, open_calls, tool_rounds
from graph.state import ChatState
from graph.tool.client_tool import RESULT_CHARS as CLIENT_RESULT_CHARS
from graph.tool.client_tool import ClientTool
from graph.tool.question import guard
from graph.tool.question.asking import asked_before, with_answers
from graph.tool.question.guard import is_foreign
from graph.tool.time import configure_tool_clock
from graph.tool.tool_call import MALFORMED
from graph.turn.event import ToolFinished, ToolStarted
from graph.turn.runtime import TurnContext, emit_turn_event, read_turn_context
from model.call.stream import Stopped
from prompt import render_prompt
from store.turn.question import OpenUserQuestions, UserAnswer, UserQuestion, parse_user_answer
from text.clean import clean_text
from text.cut import cut_text

RESULT_CHARS = 20_000
SHOWN_CHARS = 200


def tool_node(state: ChatState, runtime: Runtime[TurnContext]) -> dict[str, Any]:
    """Returns the results of the calls that have none yet, in order; in the last round of the turn, the last result
    says so. A tool that fails does not fail the node; what a tool wants to know from the user goes to ``ask_node``."""
    turn, language, rounds = read_turn_context(runtime), state.get("language", "ko"), tool_rounds(state["messages"])
    answers = {id_: parse_user_answer(plain) for id_, plain in (state.get("answers") or {}).items()}
    messages = state["messages"]
    calls = [
        _Call(call, build_call_key(call, messages), turn, answers, messages, language) for call in open_calls(messages)
    ]
    outcomes = [_run_tool_call(call, runtime) for call in calls]
    results = [outcome for outcome in outcomes if isinstance(outcome, ToolMessage)]
    asked = [
        question.plain()
        for outcome in outcomes
        if isinstance(outcome, OpenUserQuestions)
        for question in outcome.questions
    ]
    is_over = rounds >= turn.settings.tool_limit and not turn.inputs.client_tools.forms
    if results and not asked and (is_over or is_circling([*messages, *results])):
        last = results[-1]
        notice = render_prompt("tools_over", language)
        results[-1] = last.model_copy(update={"content": f"{last.text}\n\n{notice}"})
    return {"messages": results, **({"asked": asked} if asked else {})}


@dataclass(frozen=True)
class _Call:
    """One call. ``key``: unique within the turn, which the model's ids are not; ``answers``: the user's, in this turn.

    ``messages``: the state's.
    """

    call: ToolCall
    key: str
    turn: TurnContext
    answers: Mapping[str, UserAnswer]
    messages: Sequence[AnyMessage]
    language: str

    @property
    def tool(self) -> BaseTool | None:
        """Returns the tool of the call; a client need not name its tool again when it brings the result, also where
        one of ours has the same name."""
        known = next((tool for tool in self.turn.inputs.tools if tool.name == self.call["name"]), None)
        answered = self.answers.get(self.key)
        is_clients = answered is not None and bool(answered.state.get(guard.CLIENT))
        return ClientTool.of({"function": {"name": self.call["name"]}}) if is_clients else known

    def asks_first(self, tool: BaseTool) -> bool:
        """Returns whether the user must confirm what this call writes to memory: text of others may have led to it."""
        turn, messages = self.turn, self.messages
        led = turn.notes.has_foreign or guard.read_foreign(messages) or turn.is_marked()
        is_own = not turn.inputs.is_imported and guard.is_own_wish(tool, self.call["args"], messages)
        return led and not is_own

    def invoke_tool(self, tool: BaseTool) -> Any:
        """Runs the tool; it finds the clock and the user's answers in its configuration."""
        return tool.invoke(
            {**self.call, "type": "tool_call"},
            with_answers(configure_tool_clock(self.turn.now), self.key, self.answers),
        )


@dataclass(frozen=True)
class _Result:
    """The outcome of a tool call: a text, whether the call succeeded, and plain data beside the text."""

    text: str
    ok: bool
    artifact: dict[str, Any] | None = None


_STOPPED = _Result("stopped by the user", ok=False)
_REFUSED = _Result("The user said no. Go on without it.", ok=False)
_NO_RESULT = _Result("The user's program brought no result. Go on without it.", ok=False)
_CANNOT_ASK = _Result("The user must allow this tool first, and can do so only in the app.", ok=False)


def _run_tool_call(call: _Call, runtime: Runtime[TurnContext]) -> ToolMessage | OpenUserQuestions:
    """Runs one call and returns its result, or what its tool wants to know from the user first."""
    turn, began, tool = call.turn, time.monotonic(), call.tool
    before = None if call.key in call.answers else asked_before(call.call, call.key, turn.inputs.tools)
    if before is not None and turn.inputs.asks and not turn.channel.is_stopped:
        return OpenUserQuestions([before])
    started = ToolStarted(str(call.call["id"]), call.call["name"], dict(call.call["args"]))
    emit_turn_event(runtime, started)
    result = _decide_call_outcome(call, before)
    if isinstance(result, OpenUserQuestions):
        return result
    most = CLIENT_RESULT_CHARS if isinstance(tool, ClientTool) else RESULT_CHARS
    text, ok, foreign = cut_text(clean_text(result.text), most), result.ok, is_foreign(tool, result.artifact)
    finished = ToolFinished(started.call, started.name, text, ok, time.monotonic() - began, result.artifact, foreign)
    turn.notes.steps.append((started, finished))
    emit_turn_event(runtime, finished)
    return ToolMessage(
        text,
        tool_call_id=started.call,
        name=started.name,
        status="success" if ok else "error",
        artifact=result.artifact,
        additional_kwargs=guard.make_foreign_mark(foreign),
    )


def _decide_call_outcome(call: _Call, before: UserQuestion | None) -> _Result | OpenUserQuestions:
    """Returns the result of a call that need not, or cannot, ask. ``before``: what it would have asked."""
    if call.turn.channel.is_stopped:
        return _STOPPED
    if before is not None:
        return _CANNOT_ASK
    given = call.answers.get(call.key)
    if given is not None and given.action == "no":
        return _NO_RESULT if isinstance(call.tool, ClientTool) else _REFUSED
    return _invoke_call_tool(call)


def _invoke_call_tool(call: _Call) -> _Result | OpenUserQuestions:
    tool, arguments = call.tool, call.call["args"]
    if tool is None:
        known = ", ".join(offered.name for offered in call.turn.inputs.tools) or "none"
        return _Result(f"There is no tool {call.call['name']!r}. Available tools: {known}.", ok=False)
    if MALFORMED in arguments:
        written = str(arguments[MALFORMED])[:SHOWN_CHARS]
        text = f"The arguments of {tool.name} are not a JSON object: {written!r}. Correct them and call again."
        return _Result(text, ok=False)
    try:
        if (question := guard.make_question(tool, arguments)) is not None and call.asks_first(tool):
            return _Result(render_prompt("memory_asked", call.language), ok=True, artifact=question)
        return _read_tool_answer(call.invoke_tool(tool))
    except OpenUserQuestions as waiting:
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


def _read_tool_answer(answer: Any) -> _Result:
    if not isinstance(answer, ToolMessage):
        return _Result(str(answer), ok=True)
    artifact = answer.artifact if isinstance(answer.artifact, dict) else None
    return _Result(str(answer.text), ok=answer.status != "error", artifact=artifact)
