"""The row that is written when a turn ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage, messages_to_dict

from errors import GieokError
from graph.context.prompt import is_search, shorten_search_trace
from graph.context.turns import split_into_turns
from graph.tool.question.guard import read_foreign
from graph.turn.event import ToolFinished
from graph.turn.runtime import Notes
from store import Finished
from store.turn.question import UserQuestion


def build_finished_row(
    messages: Sequence[AnyMessage],
    number: int,
    notes: Notes,
    seconds: float = 0.0,
    first_token_seconds: float | None = None,
    tokens: int = 0,
) -> Finished:
    """Returns the row of an answered turn. ``messages``: the state's; ``tokens``: the tokens of this turn alone."""
    answer, raw = messages[-1], turn_messages(messages, number)
    return Finished(
        status="stopped" if answer.response_metadata.get("stopped") else "done",
        answer=str(answer.text),
        messages=messages_to_dict([_strip_tool_artifact(message) for message in raw]),
        steps=(made := build_turn_steps(notes, raw)),
        has_foreign=_has_foreign(notes, made) or read_foreign(raw),
        report=notes.report.plain() if notes.report else None,
        usage=asdict(notes.usage()),
        reasoning=notes.reasoning(),
        seconds=seconds,
        first_token_seconds=first_token_seconds,
        tokens=tokens,
    )


def build_failed_row(error: GieokError, notes: Notes, seconds: float, arrived: str = "") -> Finished:
    """Returns the row of a turn without an answer. ``arrived``: the text that came before the failure; only the user
    sees it, not the model."""
    report = notes.report.plain() if notes.report else None
    usage = asdict(notes.usage())
    return Finished(
        "failed",
        arrived if arrived.strip() else None,
        error=plain_error(error),
        steps=(made := build_turn_steps(notes)),
        has_foreign=_has_foreign(notes, made),
        report=report,
        usage=usage,
        reasoning=notes.reasoning(),
        seconds=seconds,
    )


def build_waiting_row(questions: Sequence[UserQuestion], notes: Notes, seconds: float, said: str) -> Finished:
    """Returns the row of a turn that waits for the user. ``said``: the text that came before the questions."""
    return Finished(
        "waiting",
        said if said.strip() else None,
        steps=(made := build_turn_steps(notes)),
        has_foreign=_has_foreign(notes, made),
        report=notes.report.plain() if notes.report else None,
        usage=asdict(notes.usage()),
        reasoning=notes.reasoning(),
        seconds=seconds,
        questions=[question.plain() for question in questions],
    )


def turn_messages(messages: Sequence[AnyMessage], number: int) -> list[AnyMessage]:
    """Returns the messages of turn ``number``."""
    return [
        message for turn in split_into_turns(messages, number) if turn.number == number for message in turn.messages
    ]


def build_turn_steps(notes: Notes, messages: Sequence[AnyMessage] = ()) -> list[dict[str, Any]]:
    """Returns the tool calls of a turn with their results, as plain data for display. ``messages``: the turn's
    messages, for the calls of an earlier attempt, which ``notes`` lacks."""
    noted = [_build_step_row(done, started.arguments) for started, done in notes.steps]
    arguments = {
        str(call["id"]): call["args"]
        for message in messages
        if isinstance(message, AIMessage)
        for call in message.tool_calls
    }
    noted_calls = {step["call"] for step in noted}
    earlier = [
        _build_step_row(_restore_tool_finished(result), arguments.get(result.tool_call_id, {}))
        for result in messages
        if isinstance(result, ToolMessage) and result.name and result.tool_call_id not in noted_calls
    ]
    return [*earlier, *noted]


def _has_foreign(notes: Notes, made: Sequence[Mapping[str, Any]]) -> bool:
    """Returns whether a prompt of the turn held text of others, or a tool gave some."""
    return notes.has_foreign or any(step.get("foreign") for step in made)


def _build_step_row(done: ToolFinished, arguments: dict[str, Any]) -> dict[str, Any]:
    """Returns a tool call as the record stores it; ``artifact`` and ``foreign`` only where they tell something."""
    plain = asdict(done) | {"arguments": arguments}
    silent = {"artifact": None, "foreign": False}
    return {name: value for name, value in plain.items() if name not in silent or value != silent[name]}


def _restore_tool_finished(message: ToolMessage) -> ToolFinished:
    ok, name, foreign = message.status != "error", message.name or "", bool(message.additional_kwargs.get("foreign"))
    return ToolFinished(message.tool_call_id, name, str(message.text), ok, 0.0, message.artifact, foreign)


def _strip_tool_artifact(message: AnyMessage) -> AnyMessage:
    """Returns the message with only as much of a tool's plain data as later prompts need; the record has all of it in
    the steps."""
    if not isinstance(message, ToolMessage) or message.artifact is None:
        return message
    return message.model_copy(
        update={"artifact": shorten_search_trace(message.artifact) if is_search(message) else None}
    )


def plain_error(error: GieokError) -> dict[str, Any]:
    """Returns an error as plain data for the record and the doors."""
    return {"code": error.code, "message": str(error), "values": error.values, "retryable": error.retryable}
