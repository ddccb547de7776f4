"""The way of an answer from its running request to the client: whole, or as a stream that is never silent for long.

A client that leaves stops its request: the model's call is cut, and what was said is kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from door.openai import refusal
from door.openai.answer import Answer
from door.openai.body import Body
from door.openai.metric import Metrics
from door.openai.refusal import Refusal
from door.openai.running import Begun, Item, RunningRequest
from door.openai.watch import note_of
from errors import GieokError
from graph.turn.event import Done, Failed, Token

SILENCE = 10.0
"""Seconds without a piece after which a stream sends a comment, so that no proxy takes it for dead."""
LOOK = 0.5
"""Seconds between two looks whether a client that waits for the beginning of its answer is still there."""
COMMENT = ": still at work\n\n"
SESSION, TURN, FIT, LEFT_OUT = "X-Gieok-Session", "X-Gieok-Turn", "X-Gieok-Fit", "X-Gieok-Left-Out"


class ItemsForClient:
    """The items of a running request, for a client that may leave meanwhile."""

    def __init__(self, request: Request, running: RunningRequest) -> None:
        self._request, self._running = request, running
        self._note = note_of(request.scope)

    async def next(self) -> Item:
        """Returns the next item. Stops the request when the client leaves."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK):
                    return await self._running.items.get()
            if not self._note.left and await self._request.is_disconnected():
                self._note.left = True
                self._running.stop.set()

    async def soon(self) -> Item | None:
        """Returns the next item; None after a while of silence."""
        with suppress(TimeoutError):
            async with asyncio.timeout(SILENCE):
                return await self._running.items.get()
        return None


class Reply:
    """The answer to one request. ``leave``: called once, when the request has ended in any way."""

    def __init__(
        self, request: Request, running: RunningRequest, answer: Answer, metrics: Metrics, leave: Callable[[], object]
    ) -> None:
        self._request, self._running, self._answer = request, running, answer
        self._metrics, self._leave = metrics, leave
        self._note = note_of(request.scope)
        self._items = ItemsForClient(request, running)

    async def response(self, body: Body) -> Response:
        """Returns the response once it is known how it begins. Raises ``Refusal`` for what fails before."""
        headers = {LEFT_OUT: ",".join(body.left_out)} if body.left_out else {}
        streams = False
        try:
            begun = self._checked(await self._items.next())
            assert isinstance(begun, Begun)
            self._note.begun = begun
            if begun.session:
                headers |= {SESSION: begun.session, TURN: str(begun.turn), FIT: begun.fit}
            events = list(self._answer.begin(begun))
            if body.stream:
                first = await self._first()
                streams = True
                return EventStream(self._stream(events, first), headers, self._end)
            return JSONResponse(self._answer.whole(await self._done()), headers=headers)
        except Refusal as error:
            error.headers |= headers
            raise
        finally:
            if not streams:
                self._end()

    def _checked(self, item: Item) -> Item:
        """Returns an item that is no failure. Raises ``Refusal`` for one."""
        if isinstance(item, Failed):
            raise refusal.of_turn(item)
        if isinstance(item, GieokError):
            raise refusal.of(item)
        if isinstance(item, Refusal):
            raise item
        return item

    async def _done(self) -> Done:
        while not isinstance(item := self._heard(await self._items.next()), Done):
            pass
        return item

    async def _first(self) -> Item | None:
        """Returns the first piece of a stream, so that an early failure has a status of its own; None after a while."""
        with suppress(TimeoutError):
            async with asyncio.timeout(SILENCE):
                while not isinstance(item := self._heard(await self._items.next()), Token | Done):
                    pass
                return item
        return None

    def _heard(self, item: Item) -> Item:
        """Takes what an item tells. Raises ``Refusal`` for a failure."""
        item = self._checked(item)
        if isinstance(item, Done):
            self._note.done = item
            self._metrics.ended(item, self._answer.report.context)
        elif not isinstance(item, Begun | GieokError | Refusal):
            self._answer.report.hear(item)
        return item

    async def _stream(self, events: list[str], item: Item | None) -> AsyncIterator[str]:
        for event in events:
            yield event
        try:
            while not isinstance(item, Done):
                if item is None:
                    yield COMMENT
                elif isinstance(item, Token):
                    yield self._answer.piece(item.text)
                item = await self._items.soon()
                item = self._heard(item) if item is not None else None
        except Refusal as error:
            self._note.code = error.code
            yield self._answer.failed(error)
            return
        for event in self._answer.end(item):
            yield event

    def _end(self) -> None:
        self._running.stop.set()
        self._leave()


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


__all__ = ["FIT", "LEFT_OUT", "SESSION", "TURN", "EventStream", "ItemsForClient", "Reply"]
