"""A task is one turn of a session: the turn's events become those of the task.

The turn runs as every request of the endpoint does, in a thread (``server.request.running``). A task that waits for its
session holds none.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial

from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.types import TaskState

from door.a2a.task import question
from door.a2a.task.fault import translate_call_errors
from door.a2a.task.running_task import RunningTask
from door.a2a.task.task import ThreadRunner
from errors import ensure_gieok_error
from graph.context.report import ContextReport
from graph.turn.agent import Agent
from graph.turn.event import Done, Token
from server import refusal
from server.request.running import Item, Requests, RunningRequest, Work
from settings import Settings
from store.turn.question import parse_user_question as as_question
from world.engine import WorldEngine

MOST_WAITING = 10
"""Tasks that may wait for one session; a further one is rejected."""
FULL = f"{MOST_WAITING} tasks wait for this context already."
PIECE_PAUSE = 0.1
"""Seconds between two pieces of a streamed answer."""
CANCEL_SECONDS = 15.0
"""How long a cancelled turn may take to write what was said."""
Count = Callable[[Done, ContextReport | None], object]
log = logging.getLogger("gieok.endpoint")


@dataclass(eq=False)
class _Running:
    request: RunningRequest
    ended: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(eq=False)
class _SessionQueue:
    """The tasks that wait for one session. ``first``: held by the one whose turn is next."""

    first: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: int = 0

    @contextmanager
    def count_waiter(self) -> Iterator[None]:
        self.waiting += 1
        try:
            yield
        finally:
            self.waiting -= 1


class TaskTurnExecutor(AgentExecutor):
    """Runs the turns of tasks. ``requests``: the running requests of the process; ``call``: runs in a thread;
    ``count``: is told of every answer, with the report of its prompt."""

    def __init__(
        self, requests: Requests, settings: Settings, worlds: WorldEngine, call: ThreadRunner, count: Count
    ) -> None:
        self._requests, self._settings, self._worlds = requests, settings, worlds
        self._call, self._count = call, count
        self._open: set[str] = set()
        self._running: dict[str, _Running] = {}
        self._lines: dict[tuple[str, str], _SessionQueue] = {}

    @property
    def open(self) -> frozenset[str]:
        """Returns the ids of the tasks that this process works on."""
        return frozenset(self._open)

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Runs the turn of a message; returns when it has ended, or waits for the other agent."""
        task = RunningTask(context, event_queue, self._settings, self._worlds)
        self._open.add(task.id)
        try:
            await self._execute(task)
        except Exception as error:
            await task.fail(
                refusal.build_error_refusal(ensure_gieok_error(error, log, "a task")), rejected=False, again=True
            )
        finally:
            self._open.discard(task.id)

    async def _execute(self, task: RunningTask) -> None:
        if task.waits:
            await self._answer(task)
            return
        await task.begin()
        if await self._is_full(task):
            await task.end(TaskState.TASK_STATE_REJECTED, FULL, code="too_many_tasks")
            return
        await self._run(task, task.turn())

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Stops the turn of a task; what was said is kept."""
        task = RunningTask(context, event_queue, self._settings, self._worlds)
        running = self._running.get(task.id)
        if running is None:
            if task.waits:
                await translate_call_errors(self._call)(
                    partial(dismiss_task_turn, task.agent, task.context_id, task.number)
                )
            await task.end(TaskState.TASK_STATE_CANCELED)
            return
        running.request.stop.set()
        try:
            async with asyncio.timeout(CANCEL_SECONDS):
                await running.ended.wait()
        except TimeoutError:
            await task.end(TaskState.TASK_STATE_CANCELED)

    async def _answer(self, task: RunningTask) -> None:
        """Goes on with a turn that waits, by the answers of the message; asks again where they cannot be read."""
        turn = await self._call(partial(task.agent.store.turn, *await self._place(task)))
        questions = [as_question(plain) for plain in turn.questions] if turn is not None else []
        if turn is None or turn.status != "waiting":
            await task.settle(turn)
            return
        answers = question.read_task_answers(task.message, questions)
        if answers is None:
            await task.ask(
                question.choose_question_state(questions),
                question.build_question_parts(questions, task.language, again=True),
            )
            return
        await self._run(task, task.turn(answers))

    async def _place(self, task: RunningTask) -> tuple[str, int]:
        session = await self._call(partial(task.agent.store.find_session, task.context_id))
        return (session.id if session is not None else "", task.number)

    async def _is_full(self, task: RunningTask) -> bool:
        """Returns whether as many tasks as may wait already do, in this process or in others."""
        line = self._lines.get(task.place)
        if line is not None and line.waiting >= MOST_WAITING:
            return True
        look = partial(task.agent.store.tasks.count, task.context_id, "submitted", task.id)
        return await self._call(look) >= MOST_WAITING

    async def _run(self, task: RunningTask, work: Work) -> None:
        """Runs a turn. The tasks of a session begin in the order in which they came."""
        line = self._lines.setdefault(task.place, _SessionQueue())
        running: _Running | None = None
        try:
            with line.count_waiter():
                async with line.first:
                    running = self._running[task.id] = _Running(self._requests.start(work, math.inf))
                    item = await running.request.items.get()
            await self._follow(task, running.request, item)
        finally:
            if running is not None:
                running.request.stop.set()
                running.ended.set()
                self._running.pop(task.id, None)
            if not line.waiting:
                self._lines.pop(task.place, None)

    async def _follow(self, task: RunningTask, request: RunningRequest, item: Item | None) -> None:
        """Tells what the turn's items mean. Pieces of the answer that come soon after each other become one, because a
        piece costs the SDK as much as any other change of a task; everything else goes on at once."""
        text, told = "", 0.0
        while True:
            if isinstance(item, Token):
                text += item.text
                item = None
            if text and (item is not None or time.monotonic() >= told + PIECE_PAUSE):
                await task.say(text)
                text, told = "", time.monotonic()
            if item is not None and await task.hear(item, self._requests.closing):
                break
            item = await _await_next_item(request, told + PIECE_PAUSE - time.monotonic() if text else None)
        if isinstance(item, Done):
            self._count(item, task.context_report)


async def _await_next_item(request: RunningRequest, seconds: float | None) -> Item | None:
    """Returns the next item; None when none came within some seconds."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            return await request.items.get()
    return None


def dismiss_task_turn(agent: Agent, name: str, number: int) -> None:
    """Ends the turn that waits, if it is still this one."""
    session = agent.store.find_session(name)
    if session is not None and session.turn_count == number:
        agent.stop(session.id)


__all__ = ["CANCEL_SECONDS", "MOST_WAITING", "TaskTurnExecutor"]
