"""The protocol's first version: ``tasks/send`` and its like, in the bodies of that time, on the same tasks.

There the client names tasks and sessions. Its id of a task is kept beside ours, because two users may choose the same.
A message to a finished task starts it again.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncGenerator
from functools import partial
from typing import Any

from a2a.server.context import ServerCallContext
from a2a.server.events import Event
from a2a.server.request_handlers.response_helpers import build_error_response
from a2a.types import (
    CancelTaskRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    Message,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
    Task,
    TaskState,
)
from a2a.utils.errors import A2AError, InternalError, InvalidParamsError, TaskNotFoundError
from starlette.responses import JSONResponse, Response

from door.a2a.message.early_form import (
    ID,
    Json,
    core_message,
    core_push,
    early_event,
    early_push,
    early_task,
    read_early_field,
)
from door.a2a.message.form import (
    ENTRY,
    WAITING,
    build_proto_struct,
    build_task_status,
    read_gieok_entry,
    replace_unencodable_text,
)
from door.a2a.request import TaskRequestHandler, new_context
from door.a2a.task.task import ThreadRunner, change_of, load_current_task, store_of, task_of
from server.stream import EventStream, format_sse_event
from store.database.schema import ALIAS_CHARS
from store.task.task import TaskRow
from text.digest import hash_text

OWN = frozenset({"tasks/send", "tasks/sendSubscribe", "tasks/pushNotification/set", "tasks/pushNotification/get"})
"""Methods that only the first version has."""
SHARED = frozenset({"tasks/get", "tasks/cancel", "tasks/resubscribe"})
"""Methods whose names version 0.3 has as well: they are of the first version for tasks that it began."""


class Early:
    """The methods of the first version."""

    def __init__(self, tasks: TaskRequestHandler, call: ThreadRunner) -> None:
        self._tasks, self._call = tasks, call

    async def knows(self, body: Any, context: ServerCallContext) -> bool:
        """Returns whether a request is one of the first version."""
        if not isinstance(body, dict) or body.get("jsonrpc") != "2.0" or not isinstance(body.get("method"), str):
            return False
        if body["method"] in OWN:
            return True
        params = body.get("params")
        if body["method"] not in SHARED or not isinstance(params, dict) or not isinstance(params.get("id"), str):
            return False
        return await self._row(params["id"], context) is not None

    async def response(self, body: Json, context: ServerCallContext) -> Response:
        """Answers a request."""
        number = id_of(body.get("id"))
        context.state["form"] = "early"
        try:
            params = read_early_field(body, "params", dict, needed=True)
            if body["method"] in ("tasks/sendSubscribe", "tasks/resubscribe"):
                return await self._stream(body["method"], params, number, context)
            result = await self._result(body["method"], params, context)
            return JSONResponse({"jsonrpc": "2.0", "id": number, "result": result})
        except A2AError as error:
            return JSONResponse(build_error_response(number, error))

    async def _result(self, method: str, params: Json, context: ServerCallContext) -> Json:
        match method:
            case "tasks/send":
                request, history = await self._request(params, context)
                task = await self._tasks.on_message_send(request, context)
                if not isinstance(task, Task):
                    raise InternalError
                return early_task(task, history)
            case "tasks/get":
                row = await self._load_known_row(params, context)
                found_task = await self._tasks.on_get_task(GetTaskRequest(id=row.id), context)
                return early_task(found_task or Task(), read_early_field(params, "historyLength", int))
            case "tasks/cancel":
                row = await self._load_known_row(params, context)
                task_now = await self._tasks.on_cancel_task(CancelTaskRequest(id=row.id), context)
                return early_task(task_now or Task())
            case "tasks/pushNotification/set":
                row = await self._load_known_row(params, context)
                config = core_push(_read_push_field(params), row.id)
                stored = await self._tasks.on_create_task_push_notification_config(config, context)
                return early_push(stored, replace_unencodable_text(params["id"]))
        row = await self._load_known_row(params, context)
        wanted = GetTaskPushNotificationConfigRequest(task_id=row.id, id=row.id)
        return early_push(
            await self._tasks.on_get_task_push_notification_config(wanted, context),
            replace_unencodable_text(params["id"]),
        )

    # --- sending --------------------------------------------------------------------------------

    async def _request(self, params: Json, context: ServerCallContext) -> tuple[SendMessageRequest, int | None]:
        """Returns the request for the SDK; the task exists by then."""
        name, session = (
            read_early_field(params, "id", str, needed=True),
            replace_unencodable_text(read_early_field(params, "sessionId", str) or ""),
        )
        history = read_early_field(params, "historyLength", int)
        if len(name) > ALIAS_CHARS or len(session) > ALIAS_CHARS or (history or 0) < 0:
            raise InvalidParamsError(message="id, sessionId or historyLength is out of range.")
        row = await self._row(name, context)
        if row is not None and session and session != row.context:
            raise InvalidParamsError(message="The task belongs to another session.")
        own = _own_id(name, context)
        context_id = row.context if row is not None else session or _ensure_new_context(context)
        words = core_message(read_early_field(params, "message", dict, needed=True), uuid.uuid4().hex, own, context_id)
        await self._prepare(row, words, name, read_early_field(params, "metadata", dict) or {}, context)
        configuration = SendMessageConfiguration()
        if params.get("pushNotification") is not None:
            push = core_push(read_early_field(params, "pushNotification", dict), own)
            configuration.task_push_notification_config.CopyFrom(push)
        metadata = build_proto_struct(params.get("metadata") or {})
        return SendMessageRequest(message=words, configuration=configuration, metadata=metadata), history

    async def _prepare(
        self, row: TaskRow | None, words: Message, name: str, metadata: Json, context: ServerCallContext
    ) -> None:
        """Creates the task, or starts a finished one again. One that waits is answered instead."""
        if row is not None and not row.ended:
            if row.state not in WAITING:
                await self._tasks.check(words, context)  # refuses: it is at work
            return
        self._tasks.check_parts(words)
        task = task_of(row) if row is not None else Task(id=words.task_id, context_id=words.context_id)
        del task.artifacts[:]
        entry = read_gieok_entry(task.metadata)
        kept = {field_: entry[field_] for field_ in ("session", "transitions") if field_ in entry}
        told = metadata or entry.get("metadata", {})
        task.metadata.MergeFrom(build_proto_struct({ENTRY: {**kept, ID: name, "metadata": told}}))
        task.status.CopyFrom(build_task_status(TaskState.TASK_STATE_SUBMITTED))
        tasks, change = store_of(context).tasks, change_of(task)
        write = partial(tasks.add, change) if row is None else partial(tasks.save, change, row.version)
        if await self._call(write) is None:
            raise InvalidParamsError(message="Another request began this task at the same moment.")
        context.state["begins"] = True

    # --- streams --------------------------------------------------------------------------------

    async def _stream(self, method: str, params: Json, number: Any, context: ServerCallContext) -> Response:
        if method == "tasks/resubscribe":
            row = await self._load_known_row(params, context)
            events = self._tasks.on_subscribe_to_task(SubscribeToTaskRequest(id=row.id), context)
        else:
            request, _ = await self._request(params, context)
            events = self._tasks.on_message_send_stream(request, context)
        first = await anext(events, None)
        return EventStream(
            _stream_early_events(events, first, replace_unencodable_text(params["id"]), number), {}, lambda: None
        )

    # --- what there is --------------------------------------------------------------------------

    async def _row(self, name: str, context: ServerCallContext) -> TaskRow | None:
        return await self._call(partial(load_current_task, store_of(context), _own_id(name, context)))

    async def _load_known_row(self, params: Json, context: ServerCallContext) -> TaskRow:
        row = await self._row(read_early_field(params, "id", str, needed=True), context)
        if row is None:
            raise TaskNotFoundError
        return row


async def _stream_early_events(
    events: AsyncGenerator[Event, None], first: Event | None, name: str, number: Any
) -> AsyncGenerator[str, None]:
    """Yields the events of a stream."""
    places: list[str] = []
    try:
        event = first
        while event is not None:
            if isinstance(event, Task):
                places += [one.artifact_id for one in event.artifacts if one.artifact_id not in places]
            told = early_event(event, name, places)
            if told is not None:
                yield format_sse_event({"jsonrpc": "2.0", "id": number, "result": told})
            event = await anext(events, None)
    except A2AError as error:
        yield format_sse_event(build_error_response(number, error))


def _own_id(name: str, context: ServerCallContext) -> str:
    """Returns our id of the task that the caller calls so."""
    store = store_of(context)
    whose = json.dumps([context.user.user_name, name, *([store.key] if store.key else [])])
    return f"early-{hash_text(whose)[:40]}"


def _ensure_new_context(context: ServerCallContext) -> str:
    name: str = context.state.setdefault("new_context", new_context())
    return name


def id_of(number: Any) -> str | int | None:
    """Returns the id of a request as its answer may hold it."""
    return replace_unencodable_text(number) if isinstance(number, str) else number if isinstance(number, int) else None


def _read_push_field(params: Json) -> Json:
    config: Json = read_early_field(params, "pushNotificationConfig", dict, needed=True)
    return config
