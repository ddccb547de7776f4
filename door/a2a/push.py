"""Tells an address of the other agent what becomes of a task: three tries, and what is not delivered outlives a
restart.

An address is resolved once for each try, and only a public machine is told: whoever may name an address could else have
this machine knock at others in its network. Pieces of an answer are not told, but the whole answer at its end.
"""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
from functools import partial
from urllib.parse import urlsplit

import httpx2
from a2a.compat.v0_3 import conversions
from a2a.server.context import ServerCallContext
from a2a.server.tasks.push_notification_config_store import (
    PushNotificationConfigStore,
    normalize_push_notification_config,
)
from a2a.server.tasks.push_notification_sender import PushNotificationEvent, PushNotificationSender
from a2a.types import Task, TaskArtifactUpdateEvent, TaskPushNotificationConfig
from a2a.utils.errors import InvalidParamsError
from a2a.utils.proto_utils import to_stream_response
from google.protobuf.json_format import MessageToDict

from door.a2a.message.early_form import early_task
from door.a2a.task.task import TaskRows, ThreadRunner, store_of, task_of
from errors import GieokError
from retrieval.read.address import Guard, Machine, is_public_machine, normalize_address, port_of
from server.observe.lost_exception import report_lost
from store import Store
from store.database.schema import ALIAS_CHARS
from store.task.push import Push, UndeliveredPush
from store.worker import build_worker_name, is_gone

log = logging.getLogger("gieok.endpoint")
PAUSES = (2.0, 10.0)
"""Seconds before the second and each further try."""
TRIES = len(PAUSES) + 1
SECONDS = 10.0
"""How long an address may take."""
FORMS = ("1.0", "0.3", "early")
TOKEN = "X-A2A-Notification-Token"


class PushSettings(PushNotificationConfigStore):
    """The addresses of tasks, in our database. ``store``: of everyone, for the telling itself."""

    def __init__(self, store: Store, call: ThreadRunner) -> None:
        self._store, self._call = store, call

    async def set_info(
        self, task_id: str, notification_config: TaskPushNotificationConfig, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        """Adds an address to a task."""
        config = normalize_push_notification_config(task_id, notification_config)
        if len(config.id) > ALIAS_CHARS:
            raise InvalidParamsError(message=f"The id is too long; the limit is {ALIAS_CHARS} characters.")
        form, body = context.state.get("form", "1.0"), config.SerializeToString()
        await self._call(partial(store_of(context).pushes.put, task_id, config.id, form, body))
        return config

    async def get_info(self, task_id: str, context: ServerCallContext) -> list[TaskPushNotificationConfig]:
        """Returns the addresses of a task of the caller."""
        rows = await self._call(partial(store_of(context).pushes.of, task_id))
        return [_parse_push_config(row) for row in rows]

    async def get_info_for_dispatch(self, task_id: str) -> list[TaskPushNotificationConfig]:
        """Returns the addresses of a task."""
        return [_parse_push_config(row) for row in await self._call(partial(self._store.pushes.of, task_id))]

    async def delete_info(self, task_id: str, context: ServerCallContext, config_id: str | None = None) -> None:
        """Removes an address of a task of the caller."""
        await self._call(partial(store_of(context).pushes.remove, task_id, config_id))


class PushSender(PushNotificationSender):
    """Tells the addresses. Each of them hears everything in order. ``store``: of everyone; ``rows``: the tasks of this
    process; ``loopback``: whether this machine may be told; ``guard``: checks an address before each try; ``pauses``:
    seconds between the tries."""

    def __init__(self, store: Store, call: ThreadRunner, rows: TaskRows, loopback: bool) -> None:
        self._store, self._call, self._rows, self.pauses = store, call, rows, PAUSES
        self.guard = Guard(_or_loopback if loopback else is_public_machine)
        self._queues: dict[tuple[str, str], asyncio.Queue[UndeliveredPush]] = {}
        self._work: set[asyncio.Task[None]] = set()
        self._client = _open_push_client()

    async def may_reach(self, url: str) -> bool:
        """Returns whether an address may be told."""
        try:
            await self._call(partial(self.guard.machine, normalize_address(url)))
        except GieokError:
            return False
        return True

    async def send_notification(self, task_id: str, event: PushNotificationEvent) -> None:
        """Stores what the addresses shall hear; they hear it a moment later."""
        if isinstance(event, TaskArtifactUpdateEvent) and not event.last_chunk:
            return
        now = Task()
        if (latest := self._rows.latest(task_id)) is not None:
            now.CopyFrom(latest)
        for message in await self._call(
            partial(self._store_undelivered, task_id, now if latest is not None else None, event)
        ):
            self._add(message)

    async def take_up(self) -> None:
        """Goes on with what processes that are gone left undelivered."""
        for message in await self._call(self._take_lost_messages):
            self._add(message)

    async def close(self) -> None:
        """Ends; what is not delivered yet stays in the database."""
        for work in list(self._work):
            work.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)
        await self._client.aclose()

    # --- in a thread ----------------------------------------------------------------------------

    def _store_undelivered(
        self, task_id: str, latest: Task | None, event: PushNotificationEvent
    ) -> list[UndeliveredPush]:
        pushes = self._store.pushes.of(task_id)
        row = self._store.tasks.get(task_id) if pushes and latest is None else None
        task = latest if row is None else task_of(row)
        if task is None:
            return []
        return [
            self._store.pushes.keep(task_id, push.id, body_of(push.form, task, event), build_worker_name())
            for push in pushes
        ]

    def _take_lost_messages(self) -> list[UndeliveredPush]:
        pushes = self._store.pushes
        lost = [
            one for one in pushes.waiting() if one.worker != build_worker_name() and is_gone(one.worker, one.created)
        ]
        return [one for one in lost if pushes.take(one.id, one.worker, build_worker_name())]

    # --- on the loop ----------------------------------------------------------------------------

    def _add(self, message: UndeliveredPush) -> None:
        key = (message.task_id, message.push_id)
        if key not in self._queues:
            self._queues[key] = asyncio.Queue()
            work = asyncio.get_running_loop().create_task(self._deliver(key, self._queues[key]))
            self._work.add(work)
            work.add_done_callback(self._work.discard)
        self._queues[key].put_nowait(message)

    async def _deliver(self, key: tuple[str, str], queue: asyncio.Queue[UndeliveredPush]) -> None:
        """Tells one address one message after the other; ends when there is none."""
        while not queue.empty():
            message = queue.get_nowait()
            try:
                await self._try_delivery(message)
            except Exception as error:  # else nobody would take what comes later
                report_lost("a push notification waits", error)
        del self._queues[key]

    async def _try_delivery(self, message: UndeliveredPush) -> None:
        pushes = self._store.pushes
        for tries in range(message.tries + 1, TRIES + 1):
            known = await self._call(partial(pushes.of, message.task_id))
            push = next((one for one in known if one.id == message.push_id), None)
            if push is None or await self._post(_parse_push_config(push), message.text):
                break
            await self._call(partial(pushes.note_failed_try, message.id, tries))
            if tries < TRIES:
                await asyncio.sleep(self.pauses[tries - 1])
        else:
            log.warning("a push notification was given up after %d tries", TRIES)
        await self._call(partial(pushes.settle, message.id))

    async def _post(self, config: TaskPushNotificationConfig, text: str) -> bool:
        """Sends a message to the machine that the guard returned, under the name of its host."""
        try:
            address = normalize_address(config.url)
            machine = await self._call(partial(self.guard.machine, address))
            parts = urlsplit(address)
            host = f"[{machine}]" if ":" in machine else machine
            url = f"{parts.scheme}://{host}:{port_of(address)}{parts.path}{f'?{parts.query}' if parts.query else ''}"
            headers = {"Host": parts.netloc, "Content-Type": "application/json", **_build_push_headers(config)}
            extensions = {"sni_hostname": parts.hostname}
            answer = await self._client.post(url, content=text.encode(), headers=headers, extensions=extensions)
        except (GieokError, httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            log.info("a push notification failed: %s", type(error).__name__)
            return False
        return answer.is_success


def body_of(form: str, task: Task, event: PushNotificationEvent) -> str:
    """Returns what an address hears: in 1.0 the change, in older versions the task as it is now."""
    if form == "early":
        return json.dumps(early_task(task), ensure_ascii=False)
    if form == "0.3":
        return conversions.to_compat_task(task).model_dump_json(by_alias=True, exclude_none=True)
    if isinstance(event, TaskArtifactUpdateEvent):
        whole = next((one for one in task.artifacts if one.artifact_id == event.artifact.artifact_id), event.artifact)
        event = TaskArtifactUpdateEvent(
            task_id=event.task_id, context_id=event.context_id, artifact=whole, last_chunk=True
        )
    return json.dumps(MessageToDict(to_stream_response(event)), ensure_ascii=False)


def _parse_push_config(push: Push) -> TaskPushNotificationConfig:
    config: TaskPushNotificationConfig = TaskPushNotificationConfig.FromString(push.body)
    return config


def _build_push_headers(config: TaskPushNotificationConfig) -> dict[str, str]:
    headers = {TOKEN: config.token} if config.token else {}
    known = config.authentication
    if known.scheme and known.credentials:
        headers["Authorization"] = f"{known.scheme} {known.credentials}"
    return headers


def _or_loopback(machine: Machine) -> bool:
    return machine.is_loopback or is_public_machine(machine)


def _open_push_client() -> httpx2.AsyncClient:
    """Returns a client that follows no redirect, asks no proxy and keeps no connection."""
    limits = httpx2.Limits(max_keepalive_connections=0)
    transport = httpx2.AsyncHTTPTransport(verify=ssl.create_default_context(), trust_env=False, limits=limits)
    return httpx2.AsyncClient(transport=transport, trust_env=False, timeout=SECONDS, follow_redirects=False)
