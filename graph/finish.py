"""How a turn ended, as the row that is written for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage, messages_to_dict

from errors import GieokError
from graph.context import brief, is_search
from graph.event import ToolFinished
from graph.runtime import Notes
from graph.turns import split
from store import Finished


def finished(
    messages: Sequence[AnyMessage],
    number: int,
    notes: Notes,
    seconds: float = 0.0,
    first_token_seconds: float | None = None,
    tokens: int = 0,
) -> Finished:
    """The row of an answered turn; ``messages`` are the state's, ``tokens`` what the turn adds to full history."""
    answer, own = messages[-1], turn_messages(messages, number)
    return Finished(
        status="stopped" if answer.response_metadata.get("stopped") else "done",
        answer=str(answer.text),
        messages=messages_to_dict([_bare(each) for each in own]),
        steps=steps(notes, own),
        report=notes.report.plain() if notes.report else None,
        usage=asdict(notes.usage()),
        seconds=seconds,
        first_token_seconds=first_token_seconds,
        tokens=tokens,
    )


def failed(error: GieokError, notes: Notes, seconds: float, arrived: str = "") -> Finished:
    """The row of a turn without an answer; ``arrived``: what had come of one, for the user and not for the model."""
    report = notes.report.plain() if notes.report else None
    usage = asdict(notes.usage())
    return Finished(
        "failed",
        arrived if arrived.strip() else None,
        error=plain_error(error),
        steps=steps(notes),
        report=report,
        usage=usage,
        seconds=seconds,
    )


def turn_messages(messages: Sequence[AnyMessage], number: int) -> list[AnyMessage]:
    """The messages of one turn."""
    return [message for turn in split(messages, number) if turn.number == number for message in turn.messages]


def steps(notes: Notes, messages: Sequence[AnyMessage] = ()) -> list[dict[str, Any]]:
    """Tool calls with their results, as plain data for display; ``messages``: for those of an earlier attempt."""
    noted = [_step(done, started.arguments) for started, done in notes.steps]
    asked = {
        str(call["id"]): call["args"]
        for message in messages
        if isinstance(message, AIMessage)
        for call in message.tool_calls
    }
    known = {step["call"] for step in noted}
    earlier = [
        _step(_done(each), asked.get(each.tool_call_id, {}))
        for each in messages
        if isinstance(each, ToolMessage) and each.name and each.tool_call_id not in known
    ]
    return [*earlier, *noted]


def _step(done: ToolFinished, arguments: dict[str, Any]) -> dict[str, Any]:
    """A tool call as the record has it; ``artifact`` only where there is one."""
    plain = asdict(done) | {"arguments": arguments}
    return plain if done.artifact is not None else {name: value for name, value in plain.items() if name != "artifact"}


def _done(message: ToolMessage) -> ToolFinished:
    ok, name = message.status != "error", message.name or ""
    return ToolFinished(message.tool_call_id, name, str(message.text), ok, 0.0, message.artifact)


def _bare(message: AnyMessage) -> AnyMessage:
    """The message with no more of a tool's plain data than later prompts need: the record has them in the steps."""
    if not isinstance(message, ToolMessage) or message.artifact is None:
        return message
    return message.model_copy(update={"artifact": brief(message.artifact) if is_search(message) else None})


def plain_error(error: GieokError) -> dict[str, Any]:
    """An error as plain data for the record and the doors."""
    return {"code": error.code, "message": str(error), "values": error.values, "retryable": error.retryable}
