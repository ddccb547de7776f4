"""An answer in the form of its route, whole or piece by piece."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from typing import Any, Protocol

from door.openai.body import Body
from door.openai.form import DONE, Completion, ResponseForm, finish_reason
from graph.turn.event import Done, Thought
from server.refusal import Refusal
from server.request.client_call import Called
from server.request.report import AnswerReport
from server.request.running import BegunRequest
from server.stream import format_sse_event


class AnswerForm(Protocol):
    """The form of one answer. ``begin`` comes first. ``report``: hears the events of the turn."""

    report: AnswerReport

    def begin(self, begun: BegunRequest) -> Iterator[str]:
        """Yields the events of a stream before the first piece; a caller that wants the whole answer drops them."""
        ...

    def piece(self, text: str) -> str:
        """Returns the event of a piece of the answer."""
        ...

    def think(self, thought: Thought) -> str:
        """Returns the event of a piece of what the model thinks; empty where the form has no place for it."""
        ...

    def end(self, done: Done) -> Iterator[str]:
        """Yields the events after the last piece."""
        ...

    def failure_event(self, error: Refusal) -> str:
        """Returns the event of an answer that failed on the way."""
        ...

    def whole(self, done: Done) -> dict[str, Any]:
        """Returns the answer as one object."""
        ...


class ChatAnswer:
    """The answer of ``/v1/chat/completions``."""

    def __init__(self, body: Body) -> None:
        self.report = AnswerReport()
        self._body, self._begun = body, BegunRequest()
        self._completion = Completion(f"chatcmpl-{uuid.uuid4().hex}", body.model, int(time.time()))

    def begin(self, begun: BegunRequest) -> Iterator[str]:
        self._begun = begun
        return iter([self._chunk({"role": "assistant", "content": ""})])

    def piece(self, text: str) -> str:
        return self._chunk({"content": text})

    def think(self, thought: Thought) -> str:
        return self._chunk({"reasoning_content": thought.text})

    def end(self, done: Done) -> Iterator[str]:
        more = _build_report_field(self._body, self.report, self._begun, done)
        for index, call in enumerate(done.calls if isinstance(done, Called) else ()):
            yield self._chunk(self._completion.call(index, call))
        last = self._completion.piece({}, finish_reason(done), usage=self._body.usage)
        if self._body.usage:
            yield format_sse_event(last)
            last = self._completion.end(done)
        yield format_sse_event({**last, **more})
        yield DONE

    def failure_event(self, error: Refusal) -> str:
        return format_sse_event({"error": error.error})

    def whole(self, done: Done) -> dict[str, Any]:
        return {
            **self._completion.whole(done, self.report.thought),
            **_build_report_field(self._body, self.report, self._begun, done),
        }

    def _chunk(self, delta: dict[str, Any]) -> str:
        return format_sse_event(self._completion.piece(delta, usage=self._body.usage))


class ResponseAnswer:
    """The answer of ``/v1/responses``."""

    def __init__(self, body: Body) -> None:
        self.report = AnswerReport()
        self._body, self._begun = body, BegunRequest()
        self._form = ResponseForm("", body.model, int(time.time()), body.fields, body.tools)

    def begin(self, begun: BegunRequest) -> Iterator[str]:
        self._begun, self._form.id = begun, begun.response
        return iter(list(self._form.begin()) if self._body.stream else [])

    def piece(self, text: str) -> str:
        return self._form.piece(text)

    def think(self, thought: Thought) -> str:
        return self._form.think(thought.text)

    def end(self, done: Done) -> Iterator[str]:
        return self._form.end(done, _build_report_field(self._body, self.report, self._begun, done))

    def failure_event(self, error: Refusal) -> str:
        return self._form.failure_event(error.error)

    def whole(self, done: Done) -> dict[str, Any]:
        self._form.thought = self.report.thought.strip()
        return {**self._form.whole(done), **_build_report_field(self._body, self.report, self._begun, done)}


def _build_report_field(body: Body, report: AnswerReport, begun: BegunRequest, done: Done) -> dict[str, Any]:
    """Returns our own field, if the client asked for it."""
    return {"gieok": report.plain(begun.session, done.turn, done)} if body.report and begun.session else {}
