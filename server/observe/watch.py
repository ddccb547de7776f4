"""What is kept of a request: an id in its answer, a line in the log, its place in the counters, a span. Never content.

It is around everything else, so that also a foreign host and an error that nobody expected count and are answered in
the form of its protocol.
"""

from __future__ import annotations

import logging
import time
import uuid
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from errors import ensure_gieok_error
from graph.turn.event import Done
from model.call.stream import Stopped
from server import refusal
from server.observe.metric import Metrics
from server.observe.trace import Tracing
from server.request.running import BegunRequest

log = logging.getLogger("gieok.endpoint")

LEFT = 499
"""The status of a client that left before its answer's end, in logs and counters."""
_NOTE = "gieok"


@dataclass
class RequestNote:
    """What is known of a request. ``code``: of the error with which it was refused or failed; ``status``: 0 until an
    answer begins; ``whole``: whether all of the answer was sent; ``left``: whether the client left before that."""

    id: str = field(default_factory=lambda: f"req_{uuid.uuid4().hex}")
    began: float = field(default_factory=time.monotonic)
    route: str = "other"
    status: int = 0
    code: str = ""
    whole: bool = False
    left: bool = False
    begun: BegunRequest = field(default_factory=BegunRequest)
    done: Done | None = None

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    def attributes(self) -> dict[str, Any]:
        """Returns the attributes of the request's span, in OpenTelemetry's names where it has one."""
        usage = self.done.usage if self.done is not None else None
        found = {
            "http.route": self.route,
            "http.response.status_code": self.status,
            "error.type": self.code,
            "gieok.request.id": self.id,
            "gieok.session.id": self.begun.session,
            "gieok.turn": self.begun.turn,
            "gen_ai.usage.input_tokens": usage.prompt_tokens if usage else 0,
            "gen_ai.usage.output_tokens": usage.answer_tokens if usage else 0,
        }
        return {name: value for name, value in found.items() if value or name.startswith("http.")}


def note_of(scope: Scope) -> RequestNote:
    """Returns the note of a request."""
    note: RequestNote = scope[_NOTE]
    return note


class Watch:
    """ASGI middleware that keeps the note of each request."""

    def __init__(self, app: ASGIApp, metrics: Metrics, tracing: Tracing | None) -> None:
        self._app, self._metrics, self._tracing = app, metrics, tracing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        note = scope[_NOTE] = RequestNote()

        async def send_message(message: Message) -> None:
            if message["type"] == "http.response.start":
                note.status = message["status"]
                MutableHeaders(scope=message)["x-request-id"] = note.id
            await send(message)
            note.whole = note.whole or (message["type"] == "http.response.body" and not message.get("more_body"))

        with self._tracing.span(scope, note) if self._tracing is not None else nullcontext():
            try:
                await self._app(scope, receive, send_message)
            except (ClientDisconnect, Stopped):  # the client left while it sent, or while its work ran
                note.left = True
            except Exception as error:
                failure = refusal.build_error_refusal(ensure_gieok_error(error, log, "a request"))
                note.code = failure.code
                if not note.status:
                    await failure.response_at(scope["path"])(scope, receive, send_message)
            finally:
                self._record_end(scope, note)

    def _record_end(self, scope: Scope, note: RequestNote) -> None:
        note.route = str(getattr(scope.get("route"), "path", note.route))
        if note.left or not note.whole:
            note.status = LEFT
        self._metrics.requests.labels(note.route, note.status).inc()
        if note.code:
            self._metrics.errors.labels(note.code).inc()
        where = f" session {note.begun.session} turn {note.begun.turn}" if note.begun.session else ""
        code = f" {note.code}" if note.code else ""
        log.info("%s %s %d%s %.3f s%s", note.id, note.route, note.status, where, note.seconds, code)
