"""The doors for MCP and for other agents in the application of the endpoint, each opened by its first request.

What they are made of takes a second to import, and most installations use one of them or none. Only tasks of other
agents that are under way, and news of them that waits, open their door without a request.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from fastapi import FastAPI
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from door.a2a import CARD, FIRST_CARD
from door.a2a import PATH as AGENT_PATH
from door.mcp import PATH as MCP_PATH
from errors import GieokError, format_error_trace
from server import refusal
from server.observe.watch import note_of
from store.worker import BEAT_SECONDS

if TYPE_CHECKING:
    from door.a2a.app import Agents
    from door.mcp.http import Endpoint

log = logging.getLogger(__name__)
_T = TypeVar("_T")


class Doors:
    """The two doors of one process. ``make_mcp``, ``make_agents``: make them; ``has_tasks``: tells whether the door for
    agents is needed without a request."""

    def __init__(
        self,
        make_mcp: Callable[[], Endpoint],
        make_agents: Callable[[], Agents],
        has_tasks: Callable[[], bool],
    ) -> None:
        self._make_mcp, self._make_agents, self._has_tasks = make_mcp, make_agents, has_tasks
        self._mcp: Endpoint | None = None
        self._agents: Agents | None = None
        self._making = threading.RLock()
        self._opening = asyncio.Lock()
        self._ending = asyncio.Event()
        self._serving: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[None] | None = None
        self._watching: asyncio.Task[None] | None = None
        self._agents_app: ASGIApp | None = None

    @property
    def mcp(self) -> Endpoint:
        """Returns the door for MCP; the first call imports what it needs."""
        with self._making:
            if self._mcp is None:
                self._mcp = self._make_mcp()
            return self._mcp

    @property
    def agents(self) -> Agents:
        """Returns the door for agents; the first call imports what it needs."""
        with self._making:
            if self._agents is None:
                self._agents = self._make_agents()
            return self._agents

    def add_to(self, app: FastAPI) -> None:
        """Adds the routes to the application."""
        agents = _LazyDoor(self._open_agents)
        app.router.routes.append(Route(MCP_PATH, endpoint=_LazyDoor(self._open_mcp)))
        app.router.routes += [Route(path, endpoint=agents) for path in (CARD, FIRST_CARD, AGENT_PATH)]
        app.router.routes.append(Route(f"{AGENT_PATH}/{{rest:path}}", endpoint=agents))

    def begin(self) -> None:
        """Looks from now on whether the door for agents is needed."""
        self._watching = asyncio.get_running_loop().create_task(self._watch())

    def leave(self) -> None:
        """Begins to end (``door.mcp.http.Endpoint.leave``)."""
        if self._serving is not None:
            self.mcp.leave()

    async def close(self) -> None:
        """Ends, after the running requests have."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
        if self._agents_app is not None:
            await self.agents.close()
        self._ending.set()
        if self._serving is not None:  # what it failed with, it has logged; what ends after it must end too
            await asyncio.gather(self._serving, return_exceptions=True)

    async def _watch(self) -> None:
        while self._agents_app is None:
            with suppress(GieokError):
                if await call_in_thread(self._has_tasks):
                    await self._open_agents()
            await asyncio.sleep(BEAT_SECONDS)

    async def _open_agents(self) -> ASGIApp:
        async with self._opening:
            if self._agents_app is None:
                agents = await call_in_thread(lambda: self.agents)
                await agents.begin()
                self._agents_app = agents.router()
            return self._agents_app

    async def _open_mcp(self) -> ASGIApp:
        async with self._opening:
            mcp = await call_in_thread(lambda: self.mcp)
            if self._ready is None:
                self._ready = asyncio.get_running_loop().create_future()
                self._serving = asyncio.create_task(self._serve(mcp, self._ready))
            ready = self._ready
        await asyncio.shield(ready)  # a request that is cancelled leaves it to the others
        return mcp

    async def _serve(self, mcp: Endpoint, ready: asyncio.Future[None]) -> None:
        """Runs the door for MCP until the end, in a task of its own: what it begins must end in the same task. After a
        failure the next request opens a new door: one runs only once."""
        try:
            async with mcp.running():
                ready.set_result(None)
                await self._ending.wait()
        except Exception as error:
            self._mcp = self._serving = self._ready = None
            if ready.done():
                log.error("the door for MCP ended: %s", format_error_trace(error))
            else:
                ready.set_exception(error)


class _LazyDoor:
    """An ASGI application behind which another one is opened when it is asked for."""

    def __init__(self, open_app: Callable[[], Awaitable[ASGIApp]]) -> None:
        self._open_app = open_app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            app = await self._open_app()
        except GieokError as error:
            refused = refusal.build_error_refusal(error)
            note_of(scope).code = refused.code
            app = refused.response_at(scope["path"])
        await app(scope, receive, send)


async def call_in_thread(work: Callable[[], _T]) -> _T:
    return await asyncio.get_running_loop().run_in_executor(None, work)
