"""The routes of the door for other agents, in the application of the endpoint."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from hashlib import sha256
from typing import Any, TypeVar

from a2a.server.request_handlers.response_helpers import agent_card_to_dict
from a2a.server.routes import create_jsonrpc_routes, create_rest_routes
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, Router

from door.a2a import CARD, FIRST_CARD, PATH, REST
from door.a2a.card import build_agent_card, build_first_card
from door.a2a.early import Early
from door.a2a.gate import CallContextBuilder, Gate, Key
from door.a2a.message.form import RUNNING
from door.a2a.push import PushSender, PushSettings
from door.a2a.request import TaskRequestHandler
from door.a2a.task.fault import translate_call_errors
from door.a2a.task.story import can_play
from door.a2a.task.task import Followed, TaskRows, fail_left, fail_lost
from door.a2a.task.turn import Count, TaskTurnExecutor
from errors import GieokError
from graph.turn.agent import Agent
from server.access import Access
from server.request.running import LEAVE_SECONDS, STOPPED_SECONDS, Requests
from settings import Settings
from store.worker import BEAT_SECONDS, build_worker_name
from world.engine import WorldEngine

CACHE = "public, max-age=300"
THREADS = 16
_T = TypeVar("_T")
log = logging.getLogger("gieok.endpoint")
logging.getLogger("a2a").setLevel(logging.CRITICAL)  # what it writes may hold a message's content


class Agents:
    """The door for other agents in one process."""

    def __init__(
        self,
        agent: Agent,
        settings: Settings,
        requests: Requests,
        access: Access,
        key: Key,
        worlds: WorldEngine,
        count: Count,
    ) -> None:
        self._agent = agent
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="task")
        everyone, call = agent.store.everyone, self._call
        told = translate_call_errors(call)
        rows, followed = TaskRows(told), Followed(everyone, told)
        self.sender = PushSender(everyone, call, rows, settings.push_loopback)
        self._turns = TaskTurnExecutor(requests, settings, worlds, call, count)
        self.tasks = TaskRequestHandler(
            self._turns,
            rows,
            followed,
            PushSettings(everyone, told),
            self.sender,
            build_agent_card(agent, "http://localhost", keys=False, worlds=False),
            settings,
            told,
        )
        self._gate = Gate(self._sdk_router(), Early(self.tasks, told), access, key, settings.api_body_limit)
        self._beating: asyncio.Task[None] | None = None

    def router(self) -> Router:
        """Returns the application of the door."""
        cards = (
            Route(CARD, self.card, methods=["GET"]),
            Route(FIRST_CARD, self.first_card, methods=["GET"]),
        )
        gate = (Route(PATH, self._gate), Route(f"{PATH}/{{rest:path}}", self._gate))
        return Router([*cards, *gate], redirect_slashes=False)

    async def begin(self) -> None:
        """Takes up what processes that are gone left behind, and says from now on that this one lives."""
        self._beating = asyncio.get_running_loop().create_task(self._beat())

    async def close(self) -> None:
        """Ends, after the running requests have: first their tasks are written."""
        if self._beating is not None:
            self._beating.cancel()
            await asyncio.gather(self._beating, return_exceptions=True)
        await self._wait_for_tasks()
        await self.tasks.aclose()
        await self.sender.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    # --- the cards ------------------------------------------------------------------------------

    async def card(self, request: Request) -> Response:
        """The card, for the versions 1.0 and 0.3."""
        return _build_card_response(
            request, agent_card_to_dict(await self._call(partial(self._card, build_agent_card, request)))
        )

    async def first_card(self, request: Request) -> Response:
        """The card in the form of the first version."""
        return _build_card_response(request, await self._call(partial(self._card, build_first_card, request)))

    def _card(self, form: Callable[[Agent, str, bool, bool], _T], request: Request) -> _T:
        agent = self._agent
        return form(agent, str(request.base_url).rstrip("/"), agent.store.api_keys.any(), can_play(agent))

    # --- parts ----------------------------------------------------------------------------------

    def _sdk_router(self) -> Router:
        options: Any = {"context_builder": CallContextBuilder(), "enable_v0_3_compat": True}
        options["shutdown_grace_period"] = LEAVE_SECONDS
        rpc = create_jsonrpc_routes(self.tasks, PATH, **options)
        return Router([*rpc, *create_rest_routes(self.tasks, path_prefix=REST, **options)], redirect_slashes=False)

    async def _call(self, work: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def _wait_for_tasks(self) -> None:
        """Waits until no task of this process runs any more, a while at most."""
        everyone = self._agent.store.everyone
        with suppress(TimeoutError, GieokError):
            async with asyncio.timeout(STOPPED_SECONDS):
                while await self._call(partial(everyone.tasks.of, build_worker_name(), RUNNING)):
                    await asyncio.sleep(0.05)

    async def _beat(self) -> None:
        everyone, call = self._agent.store.everyone, self._call
        while True:
            with suppress(GieokError):
                await call(partial(everyone.tasks.beat, build_worker_name()))
                await call(partial(fail_lost, everyone))
                await call(partial(fail_left, everyone, self._turns.open))
                await self.sender.take_up()
            await asyncio.sleep(BEAT_SECONDS)


def _build_card_response(request: Request, told: dict[str, Any]) -> Response:
    """Returns a card that may be kept for a while, but by nobody who asked at another address."""
    content = json.dumps(told, sort_keys=True).encode()
    tag = f'W/"{sha256(content).hexdigest()[:32]}"'
    headers = {"Cache-Control": CACHE, "Vary": "Host", "ETag": tag}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return JSONResponse(told, headers=headers)
