"""Runs a turn in a thread and brings its events into the event loop, so that one process serves many clients.

The store, the lock and the model are used in the turn's thread only; the loop never waits for them.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TypeVar

from door.openai.body import Body
from door.openai.conversation import Plan, plan, prepare
from door.openai.refusal import Refusal, bad
from door.openai.told import told
from door.phrase import chosen
from errors import GieokError, SessionBusy, SessionUnknown, known
from graph.turn.agent import Agent
from graph.turn.event import Done, Event, Failed
from graph.turn.request import Request
from store.path import branch_at

_T = TypeVar("_T")
log = logging.getLogger("gieok.endpoint")

BUSY_SECONDS = 10.0
"""How long a request waits for a session that still answers."""
BUSY_PAUSE = 0.1
LEAVE_SECONDS = 20.0
"""How long the turns of a server that ends may go on before they are stopped."""


@dataclass(frozen=True, slots=True)
class Begun:
    """The conversation and the turn that a request has led to."""

    session: str
    turn: int
    fit: str


Item = Begun | Event | GieokError | Refusal


@dataclass(eq=False)
class RunningRequest:
    """A request while its turn runs. ``items``: the events of the turn, ``Begun`` first; an error instead of the rest
    when it cannot run."""

    agent: Agent
    body: Body
    name: str | None
    loop: asyncio.AbstractEventLoop
    stop: threading.Event = field(default_factory=threading.Event)
    items: asyncio.Queue[Item] = field(default_factory=asyncio.Queue)

    def run(self) -> None:
        """Plans the turn, waits while its session is busy, and runs it. For a thread; raises nothing."""
        try:
            self._put(self._turn())
        except (GieokError, Refusal) as error:
            self._put(error)
        except Exception as error:
            self._put(known(error, log, "a request"))

    def _turn(self) -> Event:
        until = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                return self._once()
            except SessionBusy:
                if self.stop.is_set() or time.monotonic() > until:
                    raise
                time.sleep(BUSY_PAUSE)

    def _once(self) -> Event:
        planned = self._plan()
        request = replace(prepare(self.agent, planned), limits=self.body.limits)
        number = request.number + len(request.given) if request.number else _next(self.agent, request.session)
        begun = False

        def emit(event: Event) -> None:
            nonlocal begun
            if not begun:
                begun = True
                self._put(Begun(request.session, number, planned.fit))
            self._put(event)

        end = self.agent.turn(request, self.stop, emit)
        if not begun:
            self._put(Begun(request.session, end.turn, planned.fit))
        return end

    def _plan(self) -> Plan:
        if self.body.previous is not None:
            return _after(self.agent, self.body)
        return plan(self.agent, self.body.messages, self.name)

    def _put(self, item: Item) -> None:
        with suppress(RuntimeError):  # the loop has ended; the turn writes its row all the same
            self.loop.call_soon_threadsafe(self.items.put_nowait, item)


def _next(agent: Agent, session: str) -> int:
    return agent.store.session(session).turn_count + 1


def response_id(agent: Agent, session: str, turn: int) -> str:
    """Returns the id of a response: it names the session, the branch and the turn that the next message follows."""
    return f"resp_{session}_{branch_at(agent.store.session(session).path, turn)}_{turn}"


def _after(agent: Agent, body: Body) -> Plan:
    """Returns the plan for a message that follows a response. Raises ``Refusal`` for a response that is unknown."""
    unknown = bad("previous_response_id", "There is no such response.", "previous_response_not_found")
    session_id, branch, number = _parsed(body.previous or "", unknown)
    try:
        session = agent.store.session(session_id)
    except SessionUnknown:
        raise unknown from None
    if number > session.turn_count and branch == branch_at(session.path, number):
        raise unknown
    request = told(body.messages, chosen("auto", agent.settings.language))
    turn = Request(
        session_id, "new", request.text, number + 1, request.turns, request.system or None, images=request.images
    )
    switch = (number, branch) if branch_at(session.path, number) != branch else None
    later = switch is not None or number < session.turn_count
    return Plan(turn, False, "edited" if later else "goes_on", switch=switch)


def _parsed(response: str, unknown: Refusal) -> tuple[str, int, int]:
    parts = response.removeprefix("resp_").rsplit("_", 2)
    if len(parts) != 3 or not (parts[1].isdecimal() and parts[2].isdecimal()):
        raise unknown
    return parts[0], int(parts[1]), int(parts[2])


class Turns:
    """The running requests of one process, each in a thread of ``most`` at a time."""

    def __init__(self, most: int) -> None:
        self._threads = ThreadPoolExecutor(most, thread_name_prefix="turn")
        self._running: set[RunningRequest] = set()
        self._change = threading.Condition()
        self.closing = False

    @property
    def count(self) -> int:
        """Returns how many requests run now."""
        return len(self._running)

    def start(self, agent: Agent, body: Body, name: str | None) -> RunningRequest:
        """Starts a request in a thread. Call it from the event loop that reads the items."""
        request = RunningRequest(agent, body, name, asyncio.get_running_loop())
        with self._change:
            self._running.add(request)
        self._threads.submit(self._run, request)
        return request

    async def call(self, work: Callable[[], _T]) -> _T:
        """Returns the result of ``work``, which runs in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def close(self) -> None:
        """Gives running turns ``LEAVE_SECONDS``, then stops them: what they have said by then is kept."""
        self.closing = True
        with self._change:
            self._change.wait_for(lambda: not self._running, LEAVE_SECONDS)
            for request in self._running:
                request.stop.set()
            self._change.wait_for(lambda: not self._running, LEAVE_SECONDS)
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _run(self, request: RunningRequest) -> None:
        try:
            request.run()
        finally:
            with self._change:
                self._running.discard(request)
                self._change.notify_all()


__all__ = ["Begun", "Done", "Failed", "Item", "RunningRequest", "Turns", "response_id"]
