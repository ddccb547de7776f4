"""Every request of another agent passes here: whose it is, how large, how many at once, and which generation of the
protocol it speaks."""

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Callable
from itertools import chain
from typing import Any

from a2a.auth.user import User
from a2a.server.context import ServerCallContext
from a2a.server.request_handlers.response_helpers import build_error_response
from a2a.server.routes.common import DefaultServerCallContextBuilder
from a2a.utils.errors import InvalidParamsError
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from door.a2a.card import PATH
from door.a2a.early import Early, id_of
from door.openai.access import Access
from door.openai.refusal import Refusal
from door.openai.watch import note_of
from graph.turn.agent import Agent
from store.api_key import ApiKey
from store.owner import ME

_AGENT = "gieok_agent"
DEPTH = 30
"""Levels of a request: the protocol's own form holds a hundred of its messages in each other, three for a level."""
LARGEST = sys.float_info.max
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
        given = _parsed(body)
        if not _fits(given):
            await _unfit(given, scope)(scope, receive, send)
            return
        if scope["method"] == "POST" and scope["path"] == PATH and not _is_later(scope):
            context = Contexts().build(Request(scope, receive))
            if await self._early.knows(given, context):
                response = await self._early.response(given, context)
                await response(scope, _again(body, receive), send)
                return
        if b"\\ud" in body.lower() and not _encodes(given):  # the first version's forms replace what cannot be sent
            await _unfit(given, scope)(scope, receive, send)
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
    """Returns the body as plain data; None where it is no JSON, of which the SDK tells the client."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _fits(data: Any) -> bool:
    """Returns whether plain data can be kept in the protocol's form, and read again: it knows no deep nesting, and
    only numbers that are some."""
    level, depth = [data], 0
    while level:
        if depth > DEPTH or not all(map(_is_number, level)):
            return False
        inner = (item.values() if isinstance(item, dict) else item for item in level if isinstance(item, dict | list))
        level, depth = list(chain.from_iterable(inner)), depth + 1
    return True


def _is_number(item: Any) -> bool:
    """Returns whether a number is one that a double can hold; everything else passes."""
    return not isinstance(item, int | float) or -LARGEST <= item <= LARGEST


def _encodes(data: Any) -> bool:
    """Returns whether all texts of plain data can be sent: a lone surrogate cannot."""
    try:
        json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _unfit(given: Any, scope: Scope) -> Response:
    message = f"The request is nested in more than {DEPTH} levels, or holds a number or text that is none."
    if scope["path"] != PATH or not isinstance(given, dict):
        return Refusal(400, message, code="invalid_value").response()
    number = given.get("id")
    return JSONResponse(build_error_response(id_of(number), InvalidParamsError(message=message)))
