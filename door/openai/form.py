"""Answers in OpenAI's forms: completions, responses, and the pieces of their streams."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from graph.tool.client_tool import NO_TOOLS, ClientTools
from graph.turn.event import Done, TurnUsage
from server.request.client_call import Called, ClientCall
from server.stream import format_sse_event

DONE = "data: [DONE]\n\n"


# --- chat completions ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Completion:
    """A completion with one choice. ``created``: Unix seconds."""

    id: str
    model: str
    created: int

    def whole(self, done: Done, thought: str = "") -> dict[str, Any]:
        """Returns the completion as one object. ``thought``: what the model thought, in the field that servers of such
        models have for it."""
        message: dict[str, Any] = {"role": "assistant", "content": done.answer, "refusal": None}
        if isinstance(done, Called):
            message |= {"content": done.answer or None, "tool_calls": [_build_client_call(call) for call in done.calls]}
        if thought:
            message["reasoning_content"] = thought.strip()
        choice = {"index": 0, "message": message, "finish_reason": finish_reason(done), "logprobs": None}
        return {**self._head("chat.completion"), "choices": [choice], "usage": completion_usage(done.usage)}

    def piece(self, delta: Mapping[str, Any], reason: str | None = None, *, usage: bool = False) -> dict[str, Any]:
        """Returns a chunk of a stream. ``usage``: whether the stream ends with its tokens; other chunks have null."""
        choice = {"index": 0, "delta": dict(delta), "finish_reason": reason, "logprobs": None}
        chunk = {**self._head("chat.completion.chunk"), "choices": [choice]}
        return {**chunk, "usage": None} if usage else chunk

    def call(self, index: int, call: ClientCall) -> dict[str, Any]:
        """Returns the part of a stream that calls a tool of the client."""
        return {"tool_calls": [{"index": index, **_build_client_call(call)}]}

    def end(self, done: Done) -> dict[str, Any]:
        """Returns the last chunk, which holds the tokens."""
        return {**self._head("chat.completion.chunk"), "choices": [], "usage": completion_usage(done.usage)}

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}


def finish_reason(done: Done) -> str:
    """Returns why a completion ended, in OpenAI's word."""
    return "tool_calls" if isinstance(done, Called) else done.finish_reason


def _build_client_call(call: ClientCall) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def completion_usage(usage: TurnUsage) -> dict[str, Any]:
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
    """A response with one message, calls of the client's tools, or both. ``given``: the fields of the request that
    OpenAI repeats in its response; ``tools``: those of the client that the model was offered; ``thought``: what the
    model thought, which stands first."""

    id: str
    model: str
    created: int
    given: Mapping[str, Any]
    tools: ClientTools = NO_TOOLS
    thought: str = ""
    _sequence: int = 0
    _is_begun: bool = False
    _is_thinking: bool = False

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
            "output": [] if done is None else self._output(done),
            "parallel_tool_calls": bool(self.tools.forms and self.tools.parallel is not False),
            "previous_response_id": self.given.get("previous_response_id"),
            "temperature": self.given.get("temperature"),
            "text": self.given.get("text") or {"format": {"type": "text"}},
            "tool_choice": (self.given.get("tool_choice") or "auto") if self.tools.forms else "none",
            "tools": [_flatten_tool_form(form) for form in self.tools.forms],
            "top_p": self.given.get("top_p"),
            "usage": None if done is None else response_usage(done.usage),
        }

    def begin(self) -> Iterator[str]:
        """Yields the events before the first piece."""
        yield self._event("response.created", response=self.whole())
        yield self._event("response.in_progress", response=self.whole())

    def piece(self, text: str) -> str:
        """Returns the event of a piece of the answer; before the first one those of its message."""
        begin = "" if self._is_begun else self._end_thought() + self._begin_message()
        return begin + self._event("response.output_text.delta", **self._place, delta=text, logprobs=[])

    def think(self, text: str) -> str:
        """Returns the event of a piece of thought; empty once the message has begun, before which thoughts stand."""
        if self._is_begun:
            return ""
        begin = "" if self._is_thinking else self._begin_thought()
        self.thought += text
        return begin + self._event("response.reasoning_text.delta", **self._thought_place, delta=text)

    def end(self, done: Done, more: Mapping[str, Any]) -> Iterator[str]:
        """Yields the events after the last piece. ``more``: fields of ours in the whole response."""
        calls = done.calls if isinstance(done, Called) else ()
        if ended := self._end_thought():
            yield ended
        if not (self._is_begun or calls):
            yield self._begin_message()
        if self._is_begun:
            yield self._event("response.output_text.done", **self._place, text=done.answer, logprobs=[])
            yield self._event("response.content_part.done", **self._place, part=_build_output_part(done.answer))
            yield self._event("response.output_item.done", output_index=self._at, item=self._message_of(done))
        for at, call in enumerate(calls, self._at + int(self._is_begun)):
            yield from self._call(at, call)
        last = "response.incomplete" if done.finish_reason == "length" else "response.completed"
        yield self._event(last, response={**self.whole(done), **more})

    def _begin_message(self) -> str:
        self._is_begun = True
        item = {**self._message("", "in_progress"), "content": []}
        added = self._event("response.output_item.added", output_index=self._at, item=item)
        return added + self._event("response.content_part.added", **self._place, part=_build_output_part(""))

    def _begin_thought(self) -> str:
        self._is_thinking = True
        return self._event("response.output_item.added", output_index=0, item=self._reasoning("in_progress"))

    def _end_thought(self) -> str:
        if not self._is_thinking:
            return ""
        self._is_thinking = False
        done = self._event("response.reasoning_text.done", **self._thought_place, text=self.thought)
        return done + self._event("response.output_item.done", output_index=0, item=self._reasoning("completed"))

    def _reasoning(self, status: str) -> dict[str, Any]:
        content = [{"type": "reasoning_text", "text": self.thought}] if self.thought else []
        return {"id": self._thought_id, "type": "reasoning", "summary": [], "content": content, "status": status}

    def _call(self, at: int, call: ClientCall) -> Iterator[str]:
        """Yields the events of a call of the client's tool."""
        place = {"item_id": f"fc_{call.id}", "output_index": at}
        begun = {**_call_item(call), "arguments": "", "status": "in_progress"}
        yield self._event("response.output_item.added", output_index=at, item=begun)
        yield self._event("response.function_call_arguments.delta", **place, delta=call.arguments)
        end = {"name": call.name, "arguments": call.arguments}
        yield self._event("response.function_call_arguments.done", **place, **end)
        yield self._event("response.output_item.done", output_index=at, item=_call_item(call))

    def _output(self, done: Done) -> list[dict[str, Any]]:
        calls = [_call_item(call) for call in done.calls] if isinstance(done, Called) else []
        thoughts = [self._reasoning("completed")] if self.thought else []
        return [*thoughts, *([self._message_of(done)] if done.answer or not calls else []), *calls]

    def _message_of(self, done: Done) -> dict[str, Any]:
        return self._message(done.answer, "incomplete" if done.finish_reason == "length" else "completed")

    def failure_event(self, error: Mapping[str, Any]) -> str:
        """Returns the event of an answer that failed on the way."""
        return self._event("error", code=error["code"], message=error["message"], param=error["param"])

    @property
    def _place(self) -> dict[str, Any]:
        return {"item_id": self._item, "output_index": self._at, "content_index": 0}

    @property
    def _thought_place(self) -> dict[str, Any]:
        return {"item_id": self._thought_id, "output_index": 0, "content_index": 0}

    @property
    def _at(self) -> int:
        """Returns the place of the message in the output."""
        return int(bool(self.thought))

    @property
    def _thought_id(self) -> str:
        return f"rs_{self.id.removeprefix('resp_')}"

    @property
    def _item(self) -> str:
        return f"msg_{self.id.removeprefix('resp_')}"

    def _message(self, text: str, status: str) -> dict[str, Any]:
        return {
            "id": self._item,
            "type": "message",
            "role": "assistant",
            "status": status,
            "content": [_build_output_part(text)],
        }

    def _event(self, kind: str, **fields: Any) -> str:
        self._sequence += 1
        return format_sse_event({"type": kind, "sequence_number": self._sequence - 1, **fields}, kind)


def response_usage(usage: TurnUsage) -> dict[str, Any]:
    """Returns tokens in the form of responses."""
    return {
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens, "cache_write_tokens": 0},
        "output_tokens": usage.answer_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.prompt_tokens + usage.answer_tokens,
    }


def _call_item(call: ClientCall) -> dict[str, Any]:
    named = {"id": f"fc_{call.id}", "call_id": call.id, "name": call.name, "arguments": call.arguments}
    return {"type": "function_call", **named, "status": "completed"}


def _flatten_tool_form(form: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a tool in the form of responses."""
    function = {"strict": False, "parameters": {}, **form["function"]}
    return {"type": "function", **function}


def _build_output_part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
