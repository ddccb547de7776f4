"""What the stub upstream can answer, in the shapes of OpenAI's Chat Completions API."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Json = dict[str, Any]


@dataclass(frozen=True)
class Reply:
    """One answer. ``chunks``: stream events (a text goes out as it is); or ``body``: plain JSON, also for errors.

    ``silence``: seconds before the first byte; ``pause``: before each event. ``end``: ``done`` (``[DONE]``), ``close``
    (the connection breaks), ``hang`` (nothing more comes), ``quiet`` (a proper end without ``[DONE]``).
    """

    chunks: tuple[Json | str, ...] = ()
    body: Json | None = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    silence: float = 0.0
    pause: float = 0.0
    end: Literal["done", "close", "hang", "quiet"] = "done"

    def but(self, **changes: Any) -> Reply:
        """The same reply with some fields changed."""
        return replace(self, **changes)

    def completion(self) -> Json:
        """The same answer for a caller that does not stream."""
        events = [each for each in self.chunks if isinstance(each, dict)]
        choices = [choice for event in events for choice in event.get("choices", ())]
        text = "".join(choice["delta"].get("content") or "" for choice in choices)
        reason = next((choice["finish_reason"] for choice in reversed(choices)), None)
        message = {"role": "assistant", "content": text, "refusal": None}
        return {
            **_frame([], kind="chat.completion"),
            "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": reason}],
            "usage": next((event["usage"] for event in reversed(events) if event.get("usage")), None),
        }


def said(text: str, *, prompt: int = 20, cached: int = 0, finish: str | None = "stop") -> Reply:
    """A streamed text, word by word, with the usage at its end."""
    words = text.split(" ")
    pieces = [word if index == 0 else f" {word}" for index, word in enumerate(words)]
    end = [delta({}, finish=finish)] if finish else []
    return Reply((_role(), *(delta({"content": piece}) for piece in pieces), *end, usage(prompt, cached, len(words))))


def called(name: str, arguments: Json, *, call: str = "call_1") -> Reply:
    """A tool call whose arguments are split over events, in the middle of words."""
    text = json.dumps(arguments, ensure_ascii=False)
    pieces = [text[at : at + 3] for at in range(0, len(text), 3)]
    head = {"index": 0, "id": call, "type": "function", "function": {"name": name, "arguments": ""}}
    rest = ({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} for piece in pieces)
    deltas = (delta(each) for each in ({"tool_calls": [head]}, *rest))
    return Reply((_role(), *deltas, delta({}, finish="tool_calls"), usage(30, 0, len(pieces))))


def refused(text: str = "I can't help with that.") -> Reply:
    """A refusal: it comes in its own field, and ``content`` stays empty."""
    deltas = (delta({"refusal": word}) for word in text.split())
    return Reply((_role(), *deltas, delta({}, finish="stop"), usage(20, 0, 5)))


def filtered(text: str = "It begins") -> Reply:
    """An answer that the content filter ended."""
    return said(text, finish="content_filter")


def failed(
    status: int,
    code: str | None = None,
    *,
    message: str = "Something is wrong.",
    kind: str = "invalid_request_error",
    param: str | None = None,
    **headers: str,
) -> Reply:
    """An error body. Header names are given with underscores: ``retry_after="1"``."""
    error = {"message": message, "type": kind, "param": param, "code": code}
    return Reply(
        body={"error": error}, status=status, headers={name.replace("_", "-"): v for name, v in headers.items()}
    )


def silent() -> Reply:
    """No byte, ever."""
    return Reply(silence=3600)


def broken(text: str) -> Reply:
    """A text whose connection breaks before its end."""
    whole = said(text)
    return whole.but(chunks=whole.chunks[:-2], end="close")


def troubled(text: str, code: str = "server_error") -> Reply:
    """A text that is followed by an error object in the stream."""
    whole = said(text)
    error = {"error": {"message": "The server had an error.", "type": code, "param": None, "code": None}}
    return whole.but(chunks=(*whole.chunks[:-2], error))


def delta(change: Json, *, finish: str | None = None) -> Json:
    """One stream event."""
    return _frame([{"index": 0, "delta": change, "logprobs": None, "finish_reason": finish}])


def usage(prompt: int, cached: int, answer: int) -> Json:
    """The last stream event: no choice, only the tokens."""
    details = {"cached_tokens": cached, "audio_tokens": 0}
    counted = {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer}
    return {**_frame([]), "usage": {**counted, "prompt_tokens_details": details}}


def _role() -> Json:
    return delta({"role": "assistant", "content": "", "refusal": None})


def _frame(choices: list[Json], kind: str = "chat.completion.chunk") -> Json:
    head = {"id": "chatcmpl-1", "object": kind, "created": 1795000000, "model": "stub-model", "service_tier": "default"}
    return {**head, "system_fingerprint": "fp_1", "choices": choices, "usage": None}
