"""Server-sent events: one event as text, and a response that sends them and says when it has ended."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send


def format_sse_event(data: Any, event: str = "") -> str:
    """Returns one server-sent event."""
    name = f"event: {event}\n" if event else ""
    return f"{name}data: {json.dumps(data, ensure_ascii=False, separators=(',', ':'))}\n\n"


class EventStream(StreamingResponse):
    """A stream of events. ``end``: called when it has ended, also when the client left before it began."""

    def __init__(self, events: AsyncIterator[str], headers: dict[str, str], end: Callable[[], None]) -> None:
        unbuffered = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}  # the latter is nginx's
        super().__init__(events, headers={**unbuffered, **headers}, media_type="text/event-stream")
        self._end = end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._end()
