"""Whose request it is: the agent, the documents and the worlds of one user, and what is kept of the request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mcp.server.context import ServerRequestContext
from starlette.requests import Request

from graph.context.report import ContextReport
from graph.turn.agent import Agent
from graph.turn.event import Done
from server.request.running import BegunRequest
from store import Session
from world.engine import WorldEngine

Context = ServerRequestContext[Any, Any]
_SCOPE = "gieok.mcp"


def _begin_unlimited_call() -> Callable[[], object]:
    return lambda: None


@dataclass(frozen=True)
class McpCaller:
    """The user of a request. ``worlds``: the engine of his story worlds. ``begin``: counts a call against the limits of
    the caller's key; its result is called when the call has ended (``Access.begin``). ``begun``, ``ended``: hear of the
    turn that a call has led to, for the log and the counters. ``left``: set when the client no longer hears the answer
    to its message, which over standard input and output is the end of the process."""

    agent: Agent
    worlds: WorldEngine
    begin: Callable[[], Callable[[], object]] = _begin_unlimited_call
    begun: Callable[[BegunRequest], object] = lambda _: None
    ended: Callable[[Done, ContextReport | None], object] = lambda *_: None
    left: asyncio.Event = field(default_factory=asyncio.Event, compare=False)

    def session(self, name: str) -> Session | None:
        """Returns the user's session with this id or name, None without one."""
        return self.agent.store.find_session(name)

    @property
    def has_memory(self) -> bool:
        """Whether there is a long-term memory, and the caller's key opens it."""
        return self.agent.memory is not None and not self.agent.apart

    @property
    def has_documents(self) -> bool:
        """Whether there are documents, and the caller's key opens them."""
        return self.agent.library is not None


def save_request_caller(scope: Any, caller: McpCaller) -> None:
    """Notes the caller of an HTTP request in its scope."""
    scope[_SCOPE] = caller


def find_request_caller(context: Context) -> McpCaller | None:
    """Returns the caller that was noted for the HTTP request of a message; None for another transport."""
    request = context.request
    return request.scope.get(_SCOPE) if isinstance(request, Request) else None
