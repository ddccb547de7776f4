"""Answers in OpenAI's forms: completions, responses, and the pieces of their streams."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from graph.context.report import ContextReport
from graph.turn.event import ContextBuilt, Done, Event, SummaryMade, ToolFinished, Usage

DONE = "data: [DONE]\n\n"


def sse(data: Any, event: str = "") -> str:
    """Returns one server-sent event."""
    name = f"event: {event}\n" if event else ""
    return f"{name}data: {json.dumps(data, ensure_ascii=False, separators=(',', ':'))}\n\n"


@dataclass
class Report:
    """What an answer was given, for a client that asks: the report of its prompt, the passages it cites, and the
    summaries that were made on the way."""

    context: ContextReport | None = None
    citations: list[dict[str, Any]] = field(default_factory=list)
    summaries: list[dict[str, Any]] = field(default_factory=list)

    def hear(self, event: Event) -> None:
        """Takes what belongs into the report from an event of the turn."""
        match event:
            case ContextBuilt(report):
                self.context = report
            case SummaryMade(turns=turns, record=record, lost=lost) if record is not None:
                made = {"turns": list(turns), "summary": record["summary"], "lost": list(lost)}
                self.summaries.append(made)
            case ToolFinished(artifact=artifact) if artifact and artifact.get("passages"):
                names = ("number", "label", "text")
                self.citations += [{name: passage.get(name) for name in names} for passage in artifact["passages"]]

    def plain(self, session: str, turn: int, done: Done) -> dict[str, Any]:
        """Returns the report as plain data, with the conversation and the turn."""
        context = self.context.plain() if self.context is not None else None
        made = {"context": context, "citations": self.citations, "summaries": self.summaries}
        return {"session": session, "turn": turn, "usage": asdict(done.usage), "seconds": done.seconds, **made}


# --- chat completions ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Completion:
    """A completion with one choice. ``created``: Unix seconds."""

    id: str
    model: str
    created: int

    def whole(self, done: Done) -> dict[str, Any]:
        """Returns the completion as one object."""
        message = {"role": "assistant", "content": done.answer, "refusal": None}
        choice = {"index": 0, "message": message, "finish_reason": done.finish_reason, "logprobs": None}
        return {**self._head("chat.completion"), "choices": [choice], "usage": completion_usage(done.usage)}

    def piece(self, delta: Mapping[str, Any], reason: str | None = None, *, usage: bool = False) -> dict[str, Any]:
        """Returns a chunk of a stream. ``usage``: whether the stream ends with its tokens; other chunks have null."""
        choice = {"index": 0, "delta": dict(delta), "finish_reason": reason, "logprobs": None}
        chunk = {**self._head("chat.completion.chunk"), "choices": [choice]}
        return {**chunk, "usage": None} if usage else chunk

    def end(self, done: Done) -> dict[str, Any]:
        """Returns the last chunk, which holds the tokens."""
        return {**self._head("chat.completion.chunk"), "choices": [], "usage": completion_usage(done.usage)}

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}


def completion_usage(usage: Usage) -> dict[str, Any]:
    """Returns tokens in the form of chat completions."""
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.answer_tokens,
        "total_tokens": usage.prompt_tokens + usage.answer_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
    }


# --- responses ----------------------------------------------------------------------------------


@dataclass
class ResponseForm:
    """A response with one message. ``given``: the fields of the request that OpenAI repeats in its response."""

    id: str
    model: str
    created: int
    given: Mapping[str, Any]
    _sequence: int = 0

    def whole(self, done: Done | None = None) -> dict[str, Any]:
        """Returns the response; without ``done`` as it begins."""
        cut = done is not None and done.finish_reason == "length"
        status = "in_progress" if done is None else "incomplete" if cut else "completed"
        return {
            "id": self.id,
            "object": "response",
            "created_at": self.created,
            "status": status,
            "error": None,
            "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
            "instructions": self.given.get("instructions"),
            "max_output_tokens": self.given.get("max_output_tokens"),
            "metadata": self.given.get("metadata") or {},
            "model": self.model,
            "output": [] if done is None else [self._message(done.answer, "incomplete" if cut else "completed")],
            "parallel_tool_calls": False,
            "previous_response_id": self.given.get("previous_response_id"),
            "temperature": self.given.get("temperature"),
            "tool_choice": "none",
            "tools": [],
            "top_p": self.given.get("top_p"),
            "usage": None if done is None else response_usage(done.usage),
        }

    def begin(self) -> Iterator[str]:
        """Yields the events before the first piece."""
        yield self._event("response.created", response=self.whole())
        yield self._event("response.in_progress", response=self.whole())
        item = {**self._message("", "in_progress"), "content": []}
        yield self._event("response.output_item.added", output_index=0, item=item)
        yield self._event("response.content_part.added", **self._place, part=_part(""))

    def piece(self, text: str) -> str:
        """Returns the event of a piece of the answer."""
        return self._event("response.output_text.delta", **self._place, delta=text, logprobs=[])

    def end(self, done: Done, more: Mapping[str, Any]) -> Iterator[str]:
        """Yields the events after the last piece. ``more``: fields of ours in the whole response."""
        message = self._message(done.answer, "incomplete" if done.finish_reason == "length" else "completed")
        yield self._event("response.output_text.done", **self._place, text=done.answer, logprobs=[])
        yield self._event("response.content_part.done", **self._place, part=_part(done.answer))
        yield self._event("response.output_item.done", output_index=0, item=message)
        last = "response.incomplete" if done.finish_reason == "length" else "response.completed"
        yield self._event(last, response={**self.whole(done), **more})

    def failed(self, error: Mapping[str, Any]) -> str:
        """Returns the event of an answer that failed on the way."""
        return self._event("error", code=error["code"], message=error["message"], param=error["param"])

    @property
    def _place(self) -> dict[str, Any]:
        return {"item_id": self._item, "output_index": 0, "content_index": 0}

    @property
    def _item(self) -> str:
        return f"msg_{self.id.removeprefix('resp_')}"

    def _message(self, text: str, status: str) -> dict[str, Any]:
        return {"id": self._item, "type": "message", "role": "assistant", "status": status, "content": [_part(text)]}

    def _event(self, kind: str, **fields: Any) -> str:
        self._sequence += 1
        return sse({"type": kind, "sequence_number": self._sequence - 1, **fields}, kind)


def response_usage(usage: Usage) -> dict[str, Any]:
    """Returns tokens in the form of responses."""
    return {
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens, "cache_write_tokens": 0},
        "output_tokens": usage.answer_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.prompt_tokens + usage.answer_tokens,
    }


def _part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
