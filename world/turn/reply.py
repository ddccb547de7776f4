"""The answer of a model on its way to a client: the state block is taken out, what the model thought goes into the
field for it, everything else passes as it is."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from model.call.thought import THOUGHT, Sorted, ThoughtSplitter
from world.block.reading.hidden import HiddenBlock

Json = dict[str, Any]
CALLS = ("tool_calls", "function_call")
"""Why an answer ends that is not the turn's last one: the client runs tools and asks again."""
DONE = "[DONE]"
FRAME = ("id", "object", "created", "model", "system_fingerprint")
"""What all events of a stream say alike."""


class _WholeText:
    """The text of an answer that is no turn of a story: all of it is shown (``HiddenBlock``)."""

    def __init__(self) -> None:
        self._came, self.blocks = list[str](), list[str]()

    @property
    def raw(self) -> str:
        return "".join(self._came)

    def feed(self, text: str) -> str:
        self._came.append(text)
        return text

    def end(self) -> str:
        return ""


class WorldReply:
    """One answer. ``counted``: whether the client asked for the tokens of a stream; they come once, before its end.
    ``is_turn``: whether it is a turn of a story, which may have a state block.

    ``raw``: the model's text so far; ``visible_text``: without its block. ``reason``: why the answer ended, empty
    before its end; ``ended``: whether the server said that it is over. ``failed``: whether the server told an error in
    the stream.
    ``usage``, ``timings``: as the server told them.
    """

    def __init__(self, counted: bool, *, is_turn: bool = True) -> None:
        self._open_block: Callable[[], HiddenBlock | _WholeText] = HiddenBlock if is_turn else _WholeText
        self._block, self._counted = self._open_block(), counted
        self._held, self._seen, self._space = list[str](), list[str](), ""
        self._splitter, self._thought = ThoughtSplitter(), ""
        self.reason, self.ended, self.failed = "", False, False
        self._frame: Json = {}
        self.usage: Json = {}
        self.timings: Json = {}

    @property
    def raw(self) -> str:
        return self._block.raw

    @property
    def visible_text(self) -> str:
        return "".join(self._seen)

    # --- the text -------------------------------------------------------------------------------

    def _visible(self, text: str) -> str:
        """Takes a piece of the model's text and returns what the client gets of it now. Empty lines wait for what
        follows: those before a block are not shown."""
        piece = self._without_thought(self._splitter.feed(text))
        text = self._space + self._block.feed(piece)
        kept = text.rstrip()
        self._space = text[len(kept) :] if "\n" in text[len(kept) :] else ""
        return self._see(text[: len(text) - len(self._space)])

    def _rest(self) -> str:
        """Returns the last piece that the client gets."""
        piece = self._without_thought(self._splitter.end(is_whole=True))
        text, self._space = self._space + self._block.feed(piece) + self._block.end(), ""
        return self._see(text.rstrip() if self._block.blocks else text)

    def _without_thought(self, piece: Sorted) -> str:
        """Returns the text of a piece, and holds its thought. Where all before turns out to be thought, the answer
        begins anew; a client of a stream has seen that already."""
        if piece.moved:
            self._block, self._space = self._open_block(), ""
            self._seen.clear()
        self._thought += piece.thought
        return piece.answer

    def _take_thought(self) -> Json:
        """Returns the field with what was thought since the last look; nothing where nothing was."""
        thought, self._thought = self._thought, ""
        return {THOUGHT: thought} if thought else {}

    def _see(self, text: str) -> str:
        if text:
            self._seen.append(text)
        return text

    # --- a stream -------------------------------------------------------------------------------

    def event(self, text: str) -> str:
        """Takes an event of the stream and returns what the client gets now. From the end of the answer on everything
        is held back, until the turn is stored."""
        passed = self._pass_event(text)
        if not self.reason and not self.ended:
            return passed
        self._held.append(passed)
        return ""

    def end(self, receipt: Mapping[str, Any] | None) -> str:
        """Returns the rest of the stream as OpenAI ends one: the tokens in one event, if the client asked for them, and
        ``[DONE]``, whatever the server did. ``receipt``: goes into the usage."""
        held, self._held = self._held, []
        if self._counted and self.usage:
            frame = {**self._frame, "choices": [], "usage": self.usage}
            held.append(_render_sse_event([], with_receipt(frame, receipt) if receipt is not None else frame))
        if self.ended or not self.failed:
            held.append(f"data: {DONE}\n\n")
        return "".join(held)

    def _pass_event(self, text: str) -> str:
        lines = text.strip("\n").split("\n")
        data = "\n".join(line[5:].removeprefix(" ") for line in lines if line.startswith("data:"))
        if data.strip() == DONE:
            self.ended = True
            return ""
        event = read_object(data)
        if event is None:
            return text
        self._note(event)
        told = _first_answer(event)
        if told is None:
            return ""
        others = [line for line in lines if not line.startswith("data:")]
        if (changed := self._hide_block(told)) is not None:
            return "".join(_render_sse_event(others, one) for one in changed)
        return text if told is event else _render_sse_event(others, told)

    def _note(self, event: Json) -> None:
        self.failed = self.failed or bool(event.get("error"))
        if isinstance(event.get("usage"), dict):
            self.usage = event["usage"]
        if isinstance(event.get("timings"), dict):
            self.timings = event["timings"]
        if "choices" in event:
            self._frame = {name: event[name] for name in FRAME if name in event}

    def _hide_block(self, event: Json) -> list[Json] | None:
        """Takes the text of an event in. Returns the events that take its place; None to leave it as it is."""
        choice = _find_first_choice(event)
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
        thought = self._take_thought()
        if given:
            return [_with_text(event, choice, visible + rest, thought)]
        told = {"content": rest, **thought}
        return [{**event, "choices": [{**choice, "delta": told, "finish_reason": None}]}, event]

    # --- a whole answer -------------------------------------------------------------------------

    def whole(self, body: Json) -> Json:
        """Takes the whole answer and returns it without its block."""
        self._note(body)
        body = {**body, "choices": body["choices"][:1]} if isinstance(body.get("choices"), list) else body
        choice = _find_first_choice(body)
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
        changed = {**choice, "message": {**message, "content": visible, **self._take_thought()}}
        if choice.get("logprobs"):
            changed["logprobs"] = None
        return {**body, "choices": [changed, *body["choices"][1:]]}


def with_receipt(body: Json, receipt: Mapping[str, Any]) -> Json:
    """Returns an answer or an event whose usage holds the receipt; without a usage as it is."""
    usage = body.get("usage")
    return {**body, "usage": {**usage, "gieok": dict(receipt)}} if isinstance(usage, dict) else body


def _with_text(event: Json, choice: Json, text: str, more: Json) -> Json:
    """Returns the event with another text. The probabilities of words that are not shown go, too. ``more``: further
    fields of the piece."""
    changed = {**choice, "delta": {**choice["delta"], "content": text, **more}}
    if choice.get("logprobs"):
        changed["logprobs"] = None
    return {**event, "choices": [changed, *event["choices"][1:]]}


def _find_first_choice(event: Json) -> Json | None:
    """Returns the first choice."""
    choices = event.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) else None


def _first_answer(event: Json) -> Json | None:
    """Returns an event with its first answer alone, because a turn of a story has one, and without tokens, which come
    once, at the end; None where nothing is left. An event that holds nothing else is returned itself."""
    choices = event.get("choices")
    if not isinstance(choices, list):
        return event
    first = [one for one in choices if not isinstance(one, dict) or one.get("index") in (0, None)]
    if not first:
        return None
    if len(first) == len(choices) and not event.get("usage"):
        return event
    return {**{name: value for name, value in event.items() if name != "usage"}, "choices": first}


def read_object(data: str | bytes) -> Json | None:
    """Returns an object of JSON; None for everything else, also for one that is nested without end."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _render_sse_event(others: list[str], event: Json) -> str:
    data = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
    return "\n".join((*others, f"data: {data}")) + "\n\n"


__all__ = ["CALLS", "WorldReply", "read_object", "with_receipt"]
