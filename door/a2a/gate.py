"""Every request of another agent passes here: whose it is, how large, how many at once, and which generation of the
protocol it speaks."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from a2a.auth.user import User
from a2a.server.context import ServerCallContext
from a2a.server.routes.common import DefaultServerCallContextBuilder
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from door.a2a.card import PATH
from door.a2a.early import Early
from door.openai.access import Access
from door.openai.refusal import Refusal
from door.openai.watch import note_of
from graph.turn.agent import Agent
from store.api_key import ApiKey
from store.owner import ME

_AGENT = "gieok_agent"
Key = Callable[[Request], Awaitable[ApiKey | None]]


class Caller(User):
    """The user of a key."""

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def is_authenticated(self) -> bool:
        return True

    @property
    def user_name(self) -> str:
        return self._name


class Contexts(DefaultServerCallContextBuilder):
    """Makes what the SDK knows of a request: the caller, and the agent as the caller."""

    def build(self, request: Request) -> ServerCallContext:
        context = super().build(request)
        agent: Agent = request.scope[_AGENT]
        context.user = Caller(agent.user or ME)
        context.state["agent"] = agent
        context.state["form"] = "1.0" if request.headers.get("a2a-version", "").startswith("1") else "0.3"
        return context


class Gate:
    """An ASGI application in front of the SDK's routes. ``key``: returns the key of a request, or refuses it."""

    def __init__(self, app: ASGIApp, early: Early, access: Access, key: Key, limit: int) -> None:
        self._app, self._early, self._access, self._key, self._limit = app, early, access, key, limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        note = note_of(scope)
        note.route = PATH
        scope = {**scope, "path": scope["path"].rstrip("/") or "/"}
        scope.pop("route", None)
        request = Request(scope, receive)
        try:
            key = await self._key(request)
            scope[_AGENT] = self._access.agent(key)
            leave = self._access.begin(key)
        except Refusal as error:
            note.code = error.code
            await error.response()(scope, receive, send)
            return
        try:
            await self._answer(scope, receive, send)
        except Refusal as error:
            note.code = error.code
            await error.response()(scope, receive, send)
        finally:
            leave()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await _whole(Request(scope, receive), self._limit)
        if scope["method"] == "POST" and scope["path"] == PATH and not _is_later(scope):
            given, context = _parsed(body), Contexts().build(Request(scope, receive))
            if await self._early.knows(given, context):
                response = await self._early.response(given, context)
                await response(scope, _again(body, receive), send)
                return
        await self._app(scope, _again(body, receive), send)


async def _whole(request: Request, limit: int) -> bytes:
    """Returns the body. Raises ``Refusal`` (413) for a large one."""
    parts, size = list[bytes](), 0
    async for part in request.stream():
        size += len(part)
        if size > limit:
            raise Refusal(413, f"The body is too large; the limit is {limit:,} bytes.", code="request_too_large")
        parts.append(part)
    return b"".join(parts)


def _again(body: bytes, receive: Receive) -> Receive:
    """Returns a receiver that gives the body once more, then what comes after it."""
    given = False

    async def receive_again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_again


def _is_later(scope: Scope) -> bool:
    return Headers(scope=scope).get("a2a-version", "").startswith("1")


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
