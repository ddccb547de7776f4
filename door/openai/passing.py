"""An answer that is passed on as it comes, with its own headers; and the errors of another server, passed on as they
are."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from door.openai import refusal
from door.openai.form import sse
from door.openai.metric import Metrics
from door.openai.refusal import Refusal
from door.openai.reply import COMMENT, LOOK, SILENCE
from door.openai.running import Begun, Item, RunningRequest
from door.openai.watch import note_of
from errors import GieokError
from graph.turn.event import Done, Token

PASSED = ("retry-after", "retry-after-ms", "x-should-retry", "www-authenticate")
PASSED_BEGINS = ("x-ratelimit-", "anthropic-ratelimit-", "openai-processing-")
"""Headers of another server that mean something to a client."""


@dataclass(frozen=True, slots=True)
class PassingBegun(Begun):
    """The beginning of an answer that is passed on. ``headers``: of the response."""

    headers: Mapping[str, str] = field(default_factory=dict)


class PassedOn(Refusal):
    """The error of another server: its status, its body and the headers that a client can use."""

    def __init__(self, status: int, headers: Mapping[str, str], content: bytes) -> None:
        super().__init__(status, "", code=f"upstream_{status}", kind="api_error")
        self._content = content
        self._type = headers.get("content-type", "application/json")
        self.headers |= passed(headers)

    def response(self) -> Response:
        """Returns the answer to the client."""
        return Response(self._content, self.http, self.headers, media_type=self._type)


def passed(headers: Mapping[str, str]) -> dict[str, str]:
    """Returns those headers of another server's answer that a client can use."""
    return {name: value for name, value in headers.items() if name in PASSED or name.startswith(PASSED_BEGINS)}


class Passing:
    """The answer to one request. ``leave``: called once, when the request has ended in any way."""

    def __init__(
        self, request: Request, running: RunningRequest, metrics: Metrics, leave: Callable[[], object], *, stream: bool
    ) -> None:
        self._request, self._running, self._stream = request, running, stream
        self._metrics, self._leave = metrics, leave
        self._note = note_of(request.scope)

    async def response(self) -> Response:
        """Returns the response once it is known how it begins. Raises ``Refusal`` for what fails before."""
        streams, headers = False, dict[str, str]()
        try:
            begun = self._heard(await self._next())
            assert isinstance(begun, PassingBegun)
            headers = dict(begun.headers)
            self._note.begun = begun
            if self._stream:
                streams = True
                return _Stream(self._events(), headers, self._end)
            text = ""
            while not isinstance(item := self._heard(await self._next()), Done):
                text += item.text if isinstance(item, Token) else ""
            return Response(text, media_type="application/json", headers=headers)
        except Refusal as error:
            error.headers |= headers
            raise
        finally:
            if not streams:
                self._end()

    async def _next(self) -> Item:
        """Returns the next item. Stops the request when the client leaves."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK):
                    return await self._running.items.get()
            if not self._note.left and await self._request.is_disconnected():
                self._note.left = True
                self._running.stop.set()

    def _heard(self, item: Item) -> Item:
        """Takes what an item tells. Raises ``Refusal`` for a failure."""
        if isinstance(item, GieokError):
            raise refusal.of(item)
        if isinstance(item, Refusal):
            raise item
        if isinstance(item, Done):
            self._note.done = item
            self._metrics.ended(item, None)
        return item

    async def _events(self) -> AsyncIterator[str]:
        """Yields what has come, in one piece as often as the client takes it (``door.openai.running.Items``)."""
        item: Item | None = None
        try:
            while not isinstance(item, Done):
                item = await self._soon()
                item = self._heard(item) if item is not None else None
                if item is None:
                    yield COMMENT
                elif isinstance(item, Token):
                    yield item.text
        except Refusal as error:
            self._note.code = error.code
            yield sse({"error": error.error})

    async def _soon(self) -> Item | None:
        """Returns the next item; None after a while of silence."""
        with suppress(TimeoutError):
            async with asyncio.timeout(SILENCE):
                return await self._running.items.get()
        return None

    def _end(self) -> None:
        self._running.stop.set()
        self._leave()


class _Stream(StreamingResponse):
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


__all__ = ["PassedOn", "Passing", "PassingBegun", "passed"]
