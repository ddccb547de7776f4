"""The answer of a model on its way to a client: the state block is taken out, everything else passes as it is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from world.block.hidden import HiddenBlock

Json = dict[str, Any]
CALLS = ("tool_calls", "function_call")
"""Why an answer ends that is not the turn's last one: the client runs tools and asks again."""
DONE = "[DONE]"


class Reply:
    """One answer. ``counted``: whether the client asked for the tokens of a stream; else the event that holds only them
    is kept from it.

    ``raw``: the model's text so far; ``shown``: without its block. ``reason``: why the answer ended, empty before its
    end; ``ended``: whether the server said that it is over. ``failed``: whether the server told an error in the stream.
    ``usage``, ``timings``: as the server told them.
    """

    def __init__(self, counted: bool) -> None:
        self._block, self._counted = HiddenBlock(), counted
        self._held, self._seen, self._space = list[str](), list[str](), ""
        self.reason, self.ended, self.failed = "", False, False
        self.usage: Json = {}
        self.timings: Json = {}

    @property
    def raw(self) -> str:
        return self._block.raw

    @property
    def shown(self) -> str:
        return "".join(self._seen)

    # --- the text -------------------------------------------------------------------------------

    def _visible(self, text: str) -> str:
        """Takes a piece of the model's text and returns what the client gets of it now. Empty lines wait for what
        follows: those before a block are not shown."""
        text = self._space + self._block.feed(text)
        kept = text.rstrip()
        self._space = text[len(kept) :] if "\n" in text[len(kept) :] else ""
        return self._see(text[: len(text) - len(self._space)])

    def _rest(self) -> str:
        """Returns the last piece that the client gets."""
        text, self._space = self._space + self._block.end(), ""
        return self._see(text.rstrip() if self._block.blocks else text)

    def _see(self, text: str) -> str:
        if text:
            self._seen.append(text)
        return text

    # --- a stream -------------------------------------------------------------------------------

    def event(self, text: str) -> str:
        """Takes an event of the stream and returns what the client gets now. From the end of the answer on everything
        is held back, until the turn is stored."""
        passed = self._passed(text)
        if not self.reason and not self.ended:
            return passed
        self._held.append(passed)
        return ""

    def end(self, receipt: Mapping[str, Any] | None) -> str:
        """Returns the rest of the stream. ``receipt``: goes into the usage, if the client asked for it."""
        held, self._held = self._held, []
        if self._counted and receipt is not None:
            held = [_with_receipt(text, receipt) for text in held]
        return "".join(held)

    def _passed(self, text: str) -> str:
        lines = text.strip("\n").split("\n")
        data = "\n".join(line[5:].removeprefix(" ") for line in lines if line.startswith("data:"))
        if data.strip() == DONE:
            self.ended = True
        event = _object(data)
        if event is None:
            return text
        self._note(event)
        if self._only_counts(event):
            return "" if not self._counted else text
        others = [line for line in lines if not line.startswith("data:")]
        return "".join(_sse(others, one) for one in changed) if (changed := self._hidden(event)) is not None else text

    def _note(self, event: Json) -> None:
        self.failed = self.failed or bool(event.get("error"))
        if isinstance(event.get("usage"), dict):
            self.usage = event["usage"]
        if isinstance(event.get("timings"), dict):
            self.timings = event["timings"]

    def _only_counts(self, event: Json) -> bool:
        return event.get("choices") == [] and isinstance(event.get("usage"), dict)

    def _hidden(self, event: Json) -> list[Json] | None:
        """Takes the text of an event in. Returns the events that take its place; None to leave it as it is."""
        choice = _choice(event)
        if choice is None:
            return None
        delta = choice.get("delta")
        text = delta.get("content") if isinstance(delta, dict) else None
        given = text if isinstance(text, str) else ""
        visible = self._visible(given) if given else ""
        rest = ""
        if choice.get("finish_reason") and not self.reason:
            self.reason, rest = str(choice["finish_reason"]), self._rest()
        if visible == given and not rest:
            return None
        if given:
            return [_with_text(event, choice, visible + rest)]
        return [{**event, "choices": [{**choice, "delta": {"content": rest}, "finish_reason": None}]}, event]

    # --- a whole answer -------------------------------------------------------------------------

    def whole(self, body: Json) -> Json:
        """Takes the whole answer and returns it without its block."""
        self._note(body)
        choice = _choice(body)
        message = choice.get("message") if choice else None
        if choice is None or not isinstance(message, dict):
            return body
        self.reason, self.ended = str(choice.get("finish_reason") or "stop"), True
        text = message.get("content")
        if not isinstance(text, str):
            return body
        visible = self._visible(text) + self._rest()
        if visible == text:
            return body
        changed = {**choice, "message": {**message, "content": visible}}
        if choice.get("logprobs"):
            changed["logprobs"] = None
        return {**body, "choices": [changed, *body["choices"][1:]]}


def with_receipt(body: Json, receipt: Mapping[str, Any]) -> Json:
    """Returns an answer or an event whose usage holds the receipt; without a usage as it is."""
    usage = body.get("usage")
    return {**body, "usage": {**usage, "gieok": dict(receipt)}} if isinstance(usage, dict) else body


def _with_receipt(text: str, receipt: Mapping[str, Any]) -> str:
    """Returns events as text, the receipt in the last usage."""
    event = _object(text.strip("\n").removeprefix("data:"))
    return _sse([], with_receipt(event, receipt)) if event is not None and event.get("usage") else text


def _with_text(event: Json, choice: Json, text: str) -> Json:
    """Returns the event with another text. The probabilities of words that are not shown go, too."""
    changed = {**choice, "delta": {**choice["delta"], "content": text}}
    if choice.get("logprobs"):
        changed["logprobs"] = None
    return {**event, "choices": [changed, *event["choices"][1:]]}


def _choice(event: Json) -> Json | None:
    """Returns the first choice."""
    choices = event.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) else None


def _object(data: str) -> Json | None:
    if not data.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(data)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _sse(others: list[str], event: Json) -> str:
    data = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
    return "\n".join((*others, f"data: {data}")) + "\n\n"


__all__ = ["CALLS", "Reply", "with_receipt"]
