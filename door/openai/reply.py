"""The way of an answer from its running request to the client: whole, or as a stream that is never silent for long.

A client that leaves stops its request: the model's call is cut, and what was said is kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from door.openai.answer import AnswerForm
from door.openai.body import Body
from graph.turn.event import Done, Step, Thought, Token
from server import refusal
from server.header import FIT, LEFT_OUT, SESSION, TURN
from server.observe.metric import Metrics
from server.observe.watch import note_of
from server.refusal import Refusal
from server.request.running import BegunRequest, Item, RunningRequest
from server.stream import EventStream

SILENCE = 10.0
"""Seconds without a piece after which a stream sends a comment, so that no proxy takes it for dead."""
COMMENT = ": still at work\n\n"


class ItemsForClient:
    """The items of a running request, for a client that may leave meanwhile."""

    def __init__(self, request: Request, running: RunningRequest) -> None:
        self._request, self._running = request, running
        self._note = note_of(request.scope)

    async def next(self) -> Item:
        """Returns the next item. Stops the request at once when the client leaves: what it asked may be answered
        elsewhere by the time at which this request would go on."""
        item = asyncio.ensure_future(self._running.items.get())
        leaving = asyncio.ensure_future(self._wait_until_left())
        try:
            await asyncio.wait((item, leaving), return_when=asyncio.FIRST_COMPLETED)
            if leaving.done() and not self._note.left:
                self._note.left = True
                self._running.stop.set()
            return await item
        finally:
            leaving.cancel()
            item.cancel()

    async def _wait_until_left(self) -> None:
        while (await self._request.receive())["type"] != "http.disconnect":
            pass

    async def soon(self) -> Item | None:
        """Returns the next item; None after a while of silence."""
        with suppress(TimeoutError):
            async with asyncio.timeout(SILENCE):
                return await self._running.items.get()
        return None

    async def deliver(self) -> None:
        """Notes that the client has its answer, before its end goes out: the client's next request may come at once.
        One that has left has none."""
        deliver = self._note.begun.deliver
        if deliver is None or self._note.left or await self._request.is_disconnected():
            return
        await asyncio.to_thread(deliver)


class ClientReply:
    """The answer to one request."""

    def __init__(self, request: Request, running: RunningRequest, answer: AnswerForm, metrics: Metrics) -> None:
        self._request, self._running, self._answer, self._metrics = request, running, answer, metrics
        self._note = note_of(request.scope)
        self._items = ItemsForClient(request, running)

    async def response(self, body: Body) -> Response:
        """Returns the response once it is known how it begins. Raises ``Refusal`` for what fails before."""
        headers = {LEFT_OUT: ",".join(body.left_out)} if body.left_out else {}
        streams = False
        try:
            begun = self._heard(await self._items.next())
            assert isinstance(begun, BegunRequest)
            self._note.begun = begun
            if begun.session:
                headers |= {SESSION: begun.session, TURN: str(begun.turn), FIT: begun.fit}
            events = list(self._answer.begin(begun))
            if body.stream:
                first = await self._first()
                streams = True
                return EventStream(self._stream(events, first), headers, self._running.stop.set)
            done = await self._await_end()
            await self._items.deliver()
            return JSONResponse(self._answer.whole(done), headers=headers)
        except Refusal as error:
            error.headers |= headers
            raise
        finally:
            if not streams:
                self._running.stop.set()

    async def _await_end(self) -> Done:
        while not isinstance(item := self._heard(await self._items.next()), Done):
            pass
        return item

    async def _first(self) -> Item | None:
        """Returns the first piece of a stream, so that an early failure has a status of its own; None after a while."""
        with suppress(TimeoutError):
            async with asyncio.timeout(SILENCE):
                while not isinstance(item := self._heard(await self._items.next()), Token | Thought | Done):
                    pass
                return item
        return None

    def _heard(self, item: Item) -> BegunRequest | Token | Step | Done:
        """Takes what an item tells. Raises ``Refusal`` for an end without an answer."""
        if isinstance(item, Step):
            self._answer.report.hear(item)
            return item
        match item:
            case BegunRequest() | Token():
                return item
            case Done():
                self._note.done = item
                self._metrics.count_answer(item, self._answer.report.context)
                return item
            case _:
                raise refusal.build_end_refusal(item)

    async def _stream(self, events: list[str], item: Item | None) -> AsyncIterator[str]:
        for event in events:
            yield event
        try:
            while not isinstance(item, Done):
                if item is None:
                    yield COMMENT
                elif isinstance(item, Token):
                    yield self._answer.piece(item.text)
                elif isinstance(item, Thought) and (event := self._answer.think(item)):
                    yield event
                item = await self._items.soon()
                item = self._heard(item) if item is not None else None
        except Refusal as error:
            self._note.code = error.code
            yield self._answer.failure_event(error)
            return
        await self._items.deliver()
        for event in self._answer.end(item):
            yield event


__all__ = ["ClientReply", "ItemsForClient"]
