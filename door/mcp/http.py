"""``/mcp``: the server over HTTP, with the keys, the limits, the counters and the end of the endpoint.

Clients of 2026-07-28 send requests that stand alone, so any worker answers them. Clients of the handshake get a session
in one process, so that they can be asked in the middle of a call; with several workers they get none.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from sse_starlette.sse import AppStatus
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from door.mcp import PATH
from door.mcp.caller import Context, McpCaller, find_request_caller, save_request_caller
from door.mcp.server import open_server
from errors import GieokError
from graph.context.report import ContextReport
from graph.turn.event import Done
from server.access import Access
from server.observe.metric import Metrics
from server.observe.watch import RequestNote, note_of
from server.refusal import Refusal, build_error_refusal, shutting_down
from server.request.json_body import read_body, replay_body
from server.request.running import BegunRequest, Requests
from settings import Settings, metrics_folder
from store.user.api_key import ApiKey
from world.engine import WorldEngine

IDLE_SECONDS = 900.0
"""How long a session of the handshake lives without a request."""
MOST_SESSIONS = 1000


class Endpoint:
    """The ASGI application of ``/mcp``. ``worlds``: the engine of story worlds, of whichever user."""

    def __init__(
        self, settings: Settings, access: Access, requests: Requests, worlds: WorldEngine, metrics: Metrics
    ) -> None:
        self._access, self._requests, self._worlds, self._metrics = access, requests, worlds, metrics
        self._limit = settings.api_body_limit
        self.server: Server[dict[str, Any]] = open_server(worlds.store, caller_of, requests)
        self._manager = StreamableHTTPSessionManager(
            self.server,
            stateless=not settings.mcp_sessions or metrics_folder() is not None,
            session_idle_timeout=IDLE_SECONDS,
            max_request_body_size=settings.api_body_limit,
            max_sessions=MOST_SESSIONS,
        )
        self._listening = set[asyncio.Timeout]()
        self._loop: asyncio.AbstractEventLoop | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serves while the block runs."""
        # else the end of the server cuts answers off at once
        AppStatus.disable_automatic_graceful_drain()  # type: ignore[no-untyped-call]
        self._loop = asyncio.get_running_loop()
        async with self._manager.run():
            yield

    def leave(self) -> None:
        """Ends the streams on which clients only listen; answers go on."""
        if self._loop is not None:
            for listening in list(self._listening):
                self._loop.call_soon_threadsafe(listening.reschedule, self._loop.time())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        note = note_of(scope)
        note.route = PATH
        try:
            if self._requests.closing:
                raise shutting_down()
            key = await self._requests.look(partial(self._access.key, Request(scope)))
        except (Refusal, GieokError) as error:
            refused = build_error_refusal(error) if isinstance(error, GieokError) else error
            note.code = refused.code
            await refused.rpc_response()(scope, receive, send)
            return
        caller = self._caller(key, note)
        save_request_caller(scope, caller)
        scope["user"] = _build_session_owner(key)
        if scope["method"] == "GET":
            await self._listen(scope, receive, send)
            return
        try:  # the SDK takes a client that leaves while it sends for a fault of the server
            body = await read_body(Request(scope, receive), self._limit)
        except Refusal as refused:
            note.code = refused.code
            await refused.rpc_response()(scope, receive, send)
            return
        try:  # a session of the handshake goes on when the client of one of its messages has left
            await self._manager.handle_request(scope, replay_body(body, receive), send)
        finally:
            caller.left.set()

    async def _listen(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request that may stay open for as long as the client wants."""
        with suppress(TimeoutError):
            async with asyncio.timeout(None) as listening:
                self._listening.add(listening)
                try:
                    await self._manager.handle_request(scope, receive, send)
                finally:
                    self._listening.discard(listening)
        if listening.expired():
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _caller(self, key: ApiKey | None, note: RequestNote) -> McpCaller:
        def note_begin(turn: BegunRequest) -> None:
            note.begun = turn

        def note_end(done: Done, report: ContextReport | None) -> None:
            note.done = done
            self._metrics.count_answer(done, report)

        agent = self._access.agent(key)
        return McpCaller(agent, self._worlds.using(agent.store), partial(self._access.begin, key), note_begin, note_end)


def caller_of(context: Context) -> McpCaller:
    """Returns the caller of a message over HTTP."""
    caller = find_request_caller(context)
    assert caller is not None
    return caller


def _build_session_owner(key: ApiKey | None) -> AuthenticatedUser:
    """Returns who may use a session of the handshake: the key that began it."""
    name, user = (key.id, key.user) if key is not None else ("", "")
    return AuthenticatedUser(AccessToken(token="", client_id=name, scopes=[], subject=user))
