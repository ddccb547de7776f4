"""Tasks in our database, as the SDK wants them: with versions, so that two processes never write over each other.

What belongs to an answer is written at most every half second, and with the end of the task; every other change at
once. So another process sees a stream a moment later, and the database is not asked for every word.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterable
from functools import partial
from typing import Any, Protocol, TypeVar

from a2a.server.cluster.event_stream import TaskEventStream, VersionedEvent
from a2a.server.cluster.task_store import ConcurrentTaskModificationError, StoredTask, VersionedTaskStore
from a2a.server.cluster.version import TaskVersion
from a2a.server.context import ServerCallContext
from a2a.server.events.event_queue import Event
from a2a.types import (
    ListTasksRequest,
    ListTasksResponse,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatusUpdateEvent,
)
from a2a.utils.errors import InvalidParamsError
from a2a.utils.task import ListTasksCursor, decode_list_tasks_cursor, encode_list_tasks_cursor

from door.a2a.message.form import (
    ANSWER,
    ENDED,
    ENTRY,
    RUNNING,
    STATES,
    answer_of,
    answer_piece,
    build_agent_message,
    build_proto_struct,
    build_task_status,
    join_answer_parts,
    read_gieok_entry,
    state_of,
    text_part,
)
from store import Store
from store.task.task import CANCELED, Change, TaskRow
from store.worker import build_worker_name, is_gone

_T = TypeVar("_T")
PIECE_SECONDS = 0.5
"""How often a growing answer is written."""
LOOK_SECONDS = 0.25
"""How often a process looks at a task that another one runs."""
LEFT_SECONDS = 60.0
WORLD = "world"
"""Our entry in a task's metadata: the id of the world whose story it goes on with."""
PAGE = 50
LATEST = 2**63
INTERRUPTED = {"code": "interrupted", "retryable": True}
GONE = "The process that worked on this task has ended before the answer did."
UNWRITTEN = "How this task ended could not be written, because the database was away."
AGAIN = "Send the message again; nothing that was said is lost."


class ThreadRunner(Protocol):
    """Runs short work in a thread."""

    def __call__(self, work: Callable[[], _T]) -> Awaitable[_T]: ...


class TaskRowVersion(TaskVersion):
    """The version of a row."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def store_of(context: ServerCallContext) -> Store:
    """Returns the store of the user who calls."""
    store: Store = context.state["agent"].store
    return store


class TaskRows(VersionedTaskStore):
    """The tasks of the callers. ``call``: runs in a thread."""

    def __init__(self, call: ThreadRunner) -> None:
        self._call = call
        self._written: dict[str, float] = {}
        self._tasks: dict[str, Task] = {}

    def latest(self, task_id: str) -> Task | None:
        """Returns a task as it is in this process, which may be ahead of its row; None when it does not run."""
        return self._tasks.get(task_id)

    def forget(self, task_id: str) -> None:
        """Drops what this process holds of a task that it does not work on any more, also where its end could not be
        written."""
        self._tasks.pop(task_id, None)
        self._written.pop(task_id, None)

    async def save(
        self,
        task: Task,
        *,
        event: Event | None,
        prev: Task | None,
        prev_version: TaskVersion,
        context: ServerCallContext,
    ) -> TaskVersion:
        """Writes a task. Raises ``ConcurrentTaskModificationError`` when another process changed it meanwhile."""
        join_answer_parts(task)
        known = prev_version.number if isinstance(prev_version, TaskRowVersion) else 0
        now, change = time.monotonic(), change_of(task)
        if change.state not in RUNNING:
            self._tasks.pop(task.id, None)
        else:
            self._tasks[task.id] = task
        if known and _may_wait(event) and now < self._written.get(task.id, 0.0) + PIECE_SECONDS:
            return prev_version
        tasks = store_of(context).tasks
        if not known:
            write = partial(tasks.add, change)
        else:
            write = partial(tasks.cancel, change) if change.state == CANCELED else partial(tasks.save, change, known)
        number = await self._call(write)
        if number is None:
            self._written.pop(task.id, None)
            raise ConcurrentTaskModificationError(task.id)
        self._note(task.id, change.state in RUNNING, now)
        return TaskRowVersion(number)

    async def get(self, task_id: str, context: ServerCallContext) -> StoredTask | None:
        """Returns a task of the caller. One whose process is gone has failed by now."""
        row = await self._call(partial(load_current_task, store_of(context), task_id))
        return None if row is None else StoredTask(task_of(row), TaskRowVersion(row.version))

    async def list(self, params: ListTasksRequest, context: ServerCallContext) -> ListTasksResponse:
        """Returns a page of the caller's tasks, those changed last first."""
        size = params.page_size or PAGE
        if params.status not in STATES:
            raise InvalidParamsError(message="There is no such state of a task.")
        states = [STATES[params.status]] if params.status else []
        since = params.status_timestamp_after.ToNanoseconds() / 1e9
        after = after_page(params.page_token) if params.page_token else None
        look = partial(store_of(context).tasks.page, size + 1, params.context_id, states, since, after)
        rows, total = await self._call(look)
        more = encode_list_tasks_cursor(cursor_at(rows[size - 1])) if len(rows) > size else ""
        tasks = [task_of(row) for row in rows[:size]]
        return ListTasksResponse(tasks=tasks, total_size=total, next_page_token=more, page_size=size)

    async def delete(self, task_id: str, context: ServerCallContext) -> None:
        """Removes a task of the caller."""
        await self._call(partial(store_of(context).tasks.remove, task_id))

    def _note(self, task_id: str, runs: bool, now: float) -> None:
        if runs:
            self._written[task_id] = now
        else:
            self._written.pop(task_id, None)


class Followed(TaskEventStream):
    """The events of a task that another process runs, seen by looking at its row."""

    def __init__(self, store: Store, call: ThreadRunner, pause: float = LOOK_SECONDS) -> None:
        self._store, self._call, self._pause = store, call, pause

    async def publish(self, task_id: str, event: VersionedEvent) -> None:
        """Does nothing: the row tells."""

    async def subscribe(self, task_id: str, *, after: TaskVersion) -> AsyncGenerator[VersionedEvent, None]:
        """Yields what a task becomes, until it has ended or is gone."""
        last: Task | None = None
        version = after.number if isinstance(after, TaskRowVersion) else 0
        while True:
            row = await self._call(partial(load_current_task, self._store, task_id))
            if row is None:
                return
            if row.version > version or last is None:
                task = task_of(row)
                for event in find_events_between(last, task) if last is not None or row.version > version else ():
                    yield VersionedEvent(event=event, version=TaskRowVersion(max(row.version, version + 1)))
                last, version = task, max(row.version, version)
            if row.ended:
                return
            await asyncio.sleep(self._pause)

    async def destroy(self, task_id: str) -> None:
        """Does nothing: nothing is held."""


def find_events_between(last: Task | None, task: Task) -> Iterable[Event]:
    """Yields the events that lead from one state of a task to a later one; the whole task where that is not known."""
    if last is None or not answer_of(task).startswith(answer_of(last)):
        yield task
        return
    before = {artifact.artifact_id for artifact in last.artifacts}
    ends: dict[str, Any] = {"task_id": task.id, "context_id": task.context_id}
    for artifact in task.artifacts:
        if artifact.artifact_id not in before:
            yield TaskArtifactUpdateEvent(artifact=artifact, last_chunk=artifact.artifact_id != ANSWER, **ends)
        elif artifact.artifact_id == ANSWER and (rest := answer_of(task)[len(answer_of(last)) :]):
            yield TaskArtifactUpdateEvent(artifact=answer_piece(rest), append=True, **ends)
    if task.status != last.status:
        yield TaskStatusUpdateEvent(status=task.status, metadata=task.metadata, **ends)


def load_current_task(store: Store, task_id: str) -> TaskRow | None:
    """Returns the row of a task; one that was running when its process ended becomes a failed one first."""
    row = store.tasks.get(task_id)
    if (
        row is None
        or row.state not in RUNNING
        or row.worker == build_worker_name()
        or not is_gone(row.worker, row.beat)
    ):
        return row
    fail_task_row(store, row)
    return store.tasks.get(task_id)


def fail_task_row(store: Store, row: TaskRow, reason: str = GONE) -> None:
    """Makes a failed task of one whose process is gone, and says so in it; it may be tried again."""
    task = task_of(row)
    task.metadata.MergeFrom(build_proto_struct({ENTRY: {**read_gieok_entry(task.metadata), **INTERRUPTED}}))
    words = build_agent_message(task.id, task.context_id, [text_part(f"{reason} {AGAIN}")])
    task.status.CopyFrom(build_task_status(TaskState.TASK_STATE_FAILED, words))
    store.tasks.save(change_of(task), row.version)


def fail_lost(store: Store) -> int:
    """Makes failed tasks of all whose process is gone; returns how many. ``store``: of everyone."""
    rows = [
        row for row in store.tasks.list_foreign_tasks(build_worker_name(), RUNNING) if is_gone(row.worker, row.beat)
    ]
    for row in rows:
        fail_task_row(store, row)
    return len(rows)


def fail_left(store: Store, at_work: Collection[str]) -> None:
    """Makes failed tasks of those of this process on which it does not work any more: their end could not be written,
    because the database was away."""
    before = time.time() - LEFT_SECONDS
    for row in store.tasks.of(build_worker_name(), RUNNING):
        if row.id not in at_work and row.updated < before:
            fail_task_row(store, row, UNWRITTEN)


def change_of(task: Task) -> Change:
    """Returns what is written of a task."""
    state = state_of(task)
    world = str(read_gieok_entry(task.metadata).get(WORLD, ""))
    return Change(task.id, task.context_id, state, state in ENDED, build_worker_name(), task.SerializeToString(), world)


def task_of(row: TaskRow) -> Task:
    """Returns the task of a row."""
    task: Task = Task.FromString(row.body)
    return task


def _may_wait(event: Event | None) -> bool:
    """Returns whether a change may be written with a later one: parts of an answer, whose end comes anyway."""
    return isinstance(event, TaskArtifactUpdateEvent)


def cursor_at(row: TaskRow) -> ListTasksCursor:
    """Returns the place of a task in the list."""
    return ListTasksCursor(timestamp_ns=round(row.updated * 1000) * 1_000_000, task_id=row.id)


def after_page(token: str) -> tuple[float, str]:
    """Returns the moment and the id after which a page begins. Raises ``InvalidParamsError`` for no token of ours."""
    cursor = decode_list_tasks_cursor(token)
    if cursor is None or cursor.timestamp_ns is None or not 0 <= cursor.timestamp_ns < LATEST:
        raise InvalidParamsError(message="There is no such page.")
    return cursor.timestamp_ns // 1_000_000 / 1000, cursor.task_id
