"""A call of a tool while it runs: work that may block runs in a thread and ends when the client cancels."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar, assert_never

from mcp_types import CallToolRequestParams

from door.mcp.caller import Context, McpCaller
from errors import GieokError
from graph.turn.event import Done, Failed, Step, Token, TurnQuestions
from model.call.stream import Stopped
from server.refusal import Refusal, error_of
from server.request.report import AnswerReport
from server.request.running import BegunRequest, Requests, Work

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Played:
    """What came of a turn. ``report``: what its prompt was given; ``end``: the answer, or the questions it waits
    for."""

    begun: BegunRequest
    report: AnswerReport
    end: Done | TurnQuestions


@dataclass(frozen=True)
class McpToolCall:
    """A call of a tool by ``caller``. ``requests``: runs the work of this process."""

    caller: McpCaller
    context: Context
    params: CallToolRequestParams
    requests: Requests

    async def run(self, work: Callable[[threading.Event], _T]) -> _T:
        """Returns the result of work that takes the event which stops it."""
        stop = threading.Event()
        try:
            return await self.requests.call(partial(work, stop))
        finally:
            stop.set()

    async def look(self, work: Callable[[], _T]) -> _T:
        """Returns the result of a short look into the store."""
        return await self.requests.look(work)

    async def hear_client(self, request: Coroutine[Any, Any, _T]) -> _T:
        """Returns what the client answers to a request of ours. Raises ``Stopped`` when it leaves before that."""
        answer, leaving = asyncio.ensure_future(request), asyncio.ensure_future(self.caller.left.wait())
        try:
            await asyncio.wait((answer, leaving), return_when=asyncio.FIRST_COMPLETED)
            if answer.done():
                return answer.result()
            raise Stopped
        finally:
            answer.cancel()
            leaving.cancel()

    async def progress(self, done: float, message: str, total: float | None = None) -> None:
        """Tells a client that asks for it how far the call is."""
        await self.context.session.report_progress(done, total, message)

    async def turn(self, work: Work) -> Played:
        """Runs a turn and tells its pieces as progress: a client sees the answer while it is written.

        A cancelled call stops its turn; what was said by then is kept. Raises ``GieokError`` and ``Refusal`` for a turn
        that fails.
        """
        running, begun, report, length = self.requests.start(work), BegunRequest(), AnswerReport(), 0
        try:
            while True:
                item = await running.items.get()
                if isinstance(item, Step):
                    report.hear(item)
                    continue
                match item:
                    case BegunRequest():
                        begun = item
                        self.caller.begun(item)
                    case Token(text):
                        length += len(text)
                        await self.progress(length, text)
                    case Done():
                        self.caller.ended(item, report.context)
                        if begun.deliver is not None and not self.caller.left.is_set():  # one that left has none
                            await self.look(begun.deliver)
                        return Played(begun, report, item)
                    case TurnQuestions():
                        return Played(begun, report, item)
                    case Failed():
                        raise error_of(item) or GieokError()
                    case GieokError() | Refusal():
                        raise item
                    case _:
                        assert_never(item)
        finally:
            running.stop.set()
