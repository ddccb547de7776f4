"""An answer that is passed on as it comes, with its own headers; and the errors of another server, passed on as they
are."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.responses import Response

from door.openai.reply import COMMENT, ItemsForClient
from graph.turn.event import Done, Step, Token
from server import refusal
from server.observe.metric import Metrics
from server.observe.watch import note_of
from server.refusal import Refusal
from server.request.running import BegunRequest, Item, RunningRequest
from server.stream import EventStream, format_sse_event

PASSED = ("retry-after", "retry-after-ms", "x-should-retry", "www-authenticate")
PASSED_BEGINS = ("x-ratelimit-", "anthropic-ratelimit-", "openai-processing-")
"""Headers of another server that mean something to a client."""


@dataclass(frozen=True, slots=True)
class PassingBegun(BegunRequest):
    """The beginning of an answer that is passed on. ``headers``: of the response."""

    headers: Mapping[str, str] = field(default_factory=dict)


class PassedOn(Refusal):
    """The error of another server: its status, its body and the headers that a client can use."""

    def __init__(self, status: int, headers: Mapping[str, str], content: bytes) -> None:
        super().__init__(status, "", code=f"upstream_{status}", kind="api_error")
        self._content = content
        self._type = headers.get("content-type", "application/json")
        self.headers |= choose_passed_headers(headers)

    def response(self) -> Response:
        """Returns the answer to the client."""
        return Response(self._content, self.http, self.headers, media_type=self._type)


def choose_passed_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Returns those headers of another server's answer that a client can use."""
    return {name: value for name, value in headers.items() if name in PASSED or name.startswith(PASSED_BEGINS)}


class Passing:
    """The answer to one request."""

    def __init__(self, request: Request, running: RunningRequest, metrics: Metrics, *, stream: bool) -> None:
        self._request, self._running, self._stream, self._metrics = request, running, stream, metrics
        self._note = note_of(request.scope)
        self._items = ItemsForClient(request, running)

    async def response(self) -> Response:
        """Returns the response once it is known how it begins. Raises ``Refusal`` for what fails before."""
        streams, headers = False, dict[str, str]()
        try:
            begun = self._heard(await self._items.next())
            assert isinstance(begun, PassingBegun)
            headers = dict(begun.headers)
            self._note.begun = begun
            if self._stream:
                streams = True
                return EventStream(self._events(), headers, self._running.stop.set)
            text = ""
            while not isinstance(item := self._heard(await self._items.next()), Done):
                text += item.text if isinstance(item, Token) else ""
            await self._items.deliver()
            return Response(text, media_type="application/json", headers=headers)
        except Refusal as error:
            error.headers |= headers
            raise
        finally:
            if not streams:
                self._running.stop.set()

    def _heard(self, item: Item) -> BegunRequest | Token | Step | Done:
        """Takes what an item tells. Raises ``Refusal`` for an end without an answer."""
        if isinstance(item, BegunRequest | Token | Step):
            return item
        if isinstance(item, Done):
            self._note.done = item
            self._metrics.count_answer(item, None)
            return item
        raise refusal.build_end_refusal(item)

    async def _events(self) -> AsyncIterator[str]:
        """Yields what has come, in one piece as often as the client takes it (``server.request.running.Items``)."""
        item: Item | None = None
        try:
            while not isinstance(item, Done):
                item = await self._items.soon()
                item = self._heard(item) if item is not None else None
                if item is None:
                    yield COMMENT
                elif isinstance(item, Token):
                    yield item.text
        except Refusal as error:
            self._note.code = error.code
            yield format_sse_event({"error": error.error})


__all__ = ["PassedOn", "Passing", "PassingBegun", "choose_passed_headers"]
