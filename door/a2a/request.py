"""What the SDK's request handling does not know: whose a session is, that a turn may run in another process, and which
parts are read."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator
from functools import partial
from typing import Any

from a2a.server.agent_execution import RequestContext, RequestContextBuilder
from a2a.server.agent_execution.active_task import ActiveTask
from a2a.server.agent_execution.active_task_registry import ActiveTaskRegistry
from a2a.server.context import ServerCallContext
from a2a.server.events import Event
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.types import (
    AgentCard,
    CancelTaskRequest,
    Message,
    SendMessageRequest,
    Task,
)
from a2a.utils.errors import InvalidParamsError, TaskNotFoundError, UnsupportedOperationError

from door.a2a.message.form import RUNNING, read_gieok_entry
from door.a2a.message.part import build_turn_text
from door.a2a.push import PushSender, PushSettings
from door.a2a.task.task import Followed, TaskRows, ThreadRunner, load_current_task, store_of, task_of
from door.a2a.task.turn import CANCEL_SECONDS, TaskTurnExecutor, dismiss_task_turn
from server.observe.lost_exception import report_lost
from server.phrase import resolve_language
from settings import Settings
from store.database.schema import ALIAS_CHARS
from store.task.task import TaskRow
from store.worker import build_worker_name

PARKED_SECONDS = 1.0
"""How long the SDK holds a task that waits for the other agent; afterwards only its row is left."""
CANCEL_PAUSE = 0.1


class TaskContextBuilder(RequestContextBuilder):
    """Names tasks and contexts. A context that we name has the id of its session."""

    async def build(
        self,
        context: ServerCallContext,
        params: SendMessageRequest | None = None,
        task_id: str | None = None,
        context_id: str | None = None,
        task: Task | None = None,
    ) -> RequestContext:
        if context_id is None and task_id is None:
            context_id = context.state["new_context"] = new_context()
        if context_id is None and task_id is not None:
            row = context.state.get("row")
            context_id = row.context if row is not None else None
        return RequestContext(call_context=context, request=params, task_id=task_id, context_id=context_id, task=task)


def new_context() -> str:
    """Returns the id of a context, and of its session, that does not exist yet."""
    return uuid.uuid4().hex[:16]


class _AtWork(ActiveTaskRegistry):
    """The SDK's tasks at work. It closes the queues also of a task that ended before it began, because its request was
    refused, and takes the exception of one whose end could not be written: the SDK leaves both to the garbage
    collector, which complains in the log. ``rows``: drop what they hold of the task."""

    def __init__(self, rows: TaskRows, **options: Any) -> None:
        super().__init__(task_store=rows, **options)
        self._rows = rows

    async def _remove_task(self, active_task: ActiveTask) -> None:
        await super()._remove_task(active_task)
        for queue in (active_task._event_queue_agent, active_task._event_queue_subscribers):
            await queue.close(immediate=True)
        work = [task for task in (active_task._producer_task, active_task._consumer_task) if task is not None]
        for error in await asyncio.gather(*work, return_exceptions=True):
            if isinstance(error, Exception):
                report_lost("the end of a task was not written", error)
        if await self.get(active_task.task_id) is None:  # else a message has begun it again
            self._rows.forget(active_task.task_id)


class TaskRequestHandler(DefaultRequestHandler):
    """The methods of the protocol, for every generation of it."""

    def __init__(
        self,
        turns: TaskTurnExecutor,
        rows: TaskRows,
        followed: Followed,
        pushes: PushSettings,
        sender: PushSender,
        card: AgentCard,
        settings: Settings,
        call: ThreadRunner,
    ) -> None:
        super().__init__(
            turns,
            rows,
            card,
            push_config_store=pushes,
            push_sender=sender,
            request_context_builder=TaskContextBuilder(),
            push_url_validator=sender.may_reach,
            event_stream=followed,
            interrupted_task_timeout=PARKED_SECONDS,
        )
        self._settings, self._call = settings, call
        self._active_task_registry = _AtWork(
            rows,
            agent_executor=turns,
            push_sender=sender,
            event_stream=followed,
            interrupted_task_timeout=PARKED_SECONDS,
        )

    async def on_message_send(self, params: SendMessageRequest, context: ServerCallContext) -> Message | Task:
        """Begins a task, or answers one that waits; returns when it has ended or waits."""
        await self.check(params.message, context)
        ended: Message | Task = await super().on_message_send(params, context)
        return ended

    async def on_message_send_stream(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event, None]:
        """Begins a task, or answers one that waits, and yields what it becomes."""
        await self.check(params.message, context)
        async for event in super().on_message_send_stream(params, context):
            yield event

    async def on_cancel_task(self, params: CancelTaskRequest, context: ServerCallContext) -> Task | None:
        """Stops the turn of a task, wherever it runs."""
        row = await self._row(params.id, context)
        if row is None:
            raise TaskNotFoundError
        if row.state == "working" and row.worker != build_worker_name():
            await self._stop_elsewhere(row, context)
            ended = await self._row(params.id, context)
            if ended is not None and ended.state == "canceled":
                return task_of(ended)
        elif row.state in ("input-required", "auth-required"):
            context.state["row"] = row
            await self._call(partial(dismiss_task_turn, context.state["agent"], row.context, _read_turn_number(row)))
        task: Task | None = await super().on_cancel_task(params, context)
        return task

    async def check(self, message: Message, context: ServerCallContext) -> None:
        """Refuses what no task can be made of, before there is one. Raises ``A2AError``."""
        if len(message.context_id) > ALIAS_CHARS:
            raise InvalidParamsError(message=f"The context's id is too long; the limit is {ALIAS_CHARS} characters.")
        row = await self._row(message.task_id, context) if message.task_id else None
        context.state["row"] = row
        if row is not None and row.state in RUNNING and not context.state.get("begins"):
            raise UnsupportedOperationError(message=f"Task {row.id} is at work: wait for its end, or cancel it.")
        if row is None or row.state in RUNNING:
            self.check_parts(message)

    def check_parts(self, message: Message) -> None:
        """Refuses parts that no turn can be made of. Raises ``A2AError``."""
        build_turn_text(message.parts, self._settings.document_limit, resolve_language("auto", self._settings.language))

    async def _row(self, task_id: str, context: ServerCallContext) -> TaskRow | None:
        return await self._call(partial(load_current_task, store_of(context), task_id))

    async def _stop_elsewhere(self, row: TaskRow, context: ServerCallContext) -> None:
        """Asks the process that runs a task to stop its turn, and waits until it did."""
        agent: Any = context.state["agent"]
        session = await self._call(partial(agent.store.find_session, row.context))
        if session is not None:
            await self._call(partial(agent.store.stops.ask, session.id))
        waits = round(CANCEL_SECONDS / CANCEL_PAUSE)
        for _ in range(waits):
            now = await self._row(row.id, context)
            if now is None or now.ended:
                return
            await asyncio.sleep(CANCEL_PAUSE)


def _read_turn_number(row: TaskRow) -> int:
    return int(read_gieok_entry(task_of(row).metadata).get("turn", 0))
