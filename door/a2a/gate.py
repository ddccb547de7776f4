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
from a2a.server.jsonrpc_models import JSONParseError, JSONRPCError
from a2a.server.request_handlers.response_helpers import build_error_response
from a2a.server.routes.common import DefaultServerCallContextBuilder
from a2a.utils.errors import A2AError, InvalidParamsError
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from door.a2a import PATH
from door.a2a.early import Early, id_of
from errors import GieokError
from graph.turn.agent import Agent
from server import refusal
from server.access import Access
from server.observe.watch import note_of
from server.refusal import Refusal
from server.request.json_body import read_body, replay_body
from store.owner import ME
from store.user.api_key import ApiKey

_AGENT = "gieok_agent"
DEPTH = 30
"""Levels of a request: the protocol's own form holds a hundred of its messages in each other, three for a level."""
LARGEST = sys.float_info.max
COUNTS = ("historyLength", "pageSize")
MOST_COUNTED = 2**31 - 1
UNREADABLE = "The request is no JSON, is nested too deep, or has a number of too many digits."
Key = Callable[[Request], Awaitable[ApiKey | None]]


class KeyUser(User):
    """The user of a key."""

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def is_authenticated(self) -> bool:
        return True

    @property
    def user_name(self) -> str:
        return self._name


class CallContextBuilder(DefaultServerCallContextBuilder):
    """Makes what the SDK knows of a request: the caller, and the agent as the caller."""

    def build(self, request: Request) -> ServerCallContext:
        context = super().build(request)
        agent: Agent = request.scope[_AGENT]
        context.user = KeyUser(agent.user or ME)
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
        leave: Callable[[], None] | None = None
        try:
            key = await self._key(request)
            scope[_AGENT] = self._access.agent(key)
            leave = self._access.begin(key)
            await self._answer(scope, receive, send)
        except (Refusal, GieokError) as error:
            refused = refusal.build_error_refusal(error) if isinstance(error, GieokError) else error
            note.code = refused.code
            response = refused.response() if is_rest(scope) else refused.rpc_response()
            await response(scope, receive, send)
        finally:
            if leave is not None:
                leave()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await read_body(Request(scope, receive), self._limit)
        given, is_json = _parse_gate_body(body)
        calls = scope["method"] == "POST" and not is_rest(scope)
        if calls and not is_json:
            await _build_failure(None, JSONParseError(message=UNREADABLE))(scope, receive, send)
            return
        if not _can_store_data(given) or not _counts_fit(given):
            await _build_unfit_response(given, scope)(scope, receive, send)
            return
        if calls and not _is_later(scope):
            context = CallContextBuilder().build(Request(scope, receive))
            if await self._early.knows(given, context):
                response = await self._early.response(given, context)
                await response(scope, replay_body(body, receive), send)
                return
        if b"\\ud" in body.lower() and not _can_encode_texts(
            given
        ):  # the first version's forms replace what cannot be sent
            await _build_unfit_response(given, scope)(scope, receive, send)
            return
        await self._app(scope, replay_body(body, receive), send)


def is_rest(scope: Scope) -> bool:
    """Returns whether a request is none of JSON-RPC's: the protocol's other binding, whose errors are plain HTTP."""
    return bool(scope["path"] != PATH)


def _is_later(scope: Scope) -> bool:
    return Headers(scope=scope).get("a2a-version", "").startswith("1")


def _parse_gate_body(body: bytes) -> tuple[Any, bool]:
    """Returns the body as plain data, and whether it is JSON that can be read: not nested without end, and without
    numbers of thousands of digits."""
    try:
        return json.loads(body), True
    except (ValueError, RecursionError):
        return None, False


def _can_store_data(data: Any) -> bool:
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


def _counts_fit(given: Any) -> bool:
    """Returns whether the counts of a request are whole numbers that the protocol's form holds; what they count has a
    range of its own."""
    params = given.get("params") if isinstance(given, dict) else None
    holders = [params, params.get("configuration")] if isinstance(params, dict) else []
    counts = [holder[name] for holder in holders if isinstance(holder, dict) for name in COUNTS if name in holder]
    return all(not isinstance(count, int | float) or abs(count) <= MOST_COUNTED for count in counts)


def _can_encode_texts(data: Any) -> bool:
    """Returns whether all texts of plain data can be sent: a lone surrogate cannot."""
    try:
        json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _build_unfit_response(given: Any, scope: Scope) -> Response:
    message = f"The request is nested in more than {DEPTH} levels, or holds a number or text that is none."
    if is_rest(scope) or not isinstance(given, dict):
        return Refusal(400, message, code="invalid_value").response()
    return _build_failure(given.get("id"), InvalidParamsError(message=message))


def _build_failure(number: Any, error: A2AError | JSONRPCError) -> Response:
    """Returns an error in the protocol's envelope. ``number``: the id of the request."""
    return JSONResponse(build_error_response(id_of(number), error))
