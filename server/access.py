"""Who may use the endpoint: this machine without a key while there is none, else whoever has a key that is not revoked.

Limits are counted per key and process. They protect the machine from a client that runs wild, not from many clients.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from starlette.requests import Request

from graph.turn.agent import Agent
from server.network.reach import from_here
from server.refusal import Refusal, shutting_down
from server.request.running import Requests
from settings import Settings
from store.user.api_key import ApiKey

WINDOW = 60.0
"""Seconds over which requests are counted."""


@dataclass
class _Used:
    moments: deque[float] = field(default_factory=deque)
    running: int = 0


class Access:
    """The check of every request."""

    def __init__(self, agent: Agent, settings: Settings) -> None:
        self._agent, self._settings = agent, settings
        self._used: dict[str, _Used] = {}
        self._change = threading.Lock()

    def key(self, request: Request) -> ApiKey | None:
        """Returns the key of a request; None on this machine where no key was ever created. Raises ``Refusal`` (401).

        Asks the database each time, so that a revoked key ends at once.
        """
        kind, _, secret = request.headers.get("authorization", "").partition(" ")
        known, is_needed = self._agent.store.api_keys.look_up(secret.strip() if kind.lower() == "bearer" else "")
        if known is None and (is_needed or not from_here(request.scope)):
            message = "A key is needed: «Authorization: Bearer gk-…». This one is missing, wrong or revoked."
            refused = Refusal(401, message, code="invalid_api_key", kind="authentication_error")
            refused.headers["WWW-Authenticate"] = "Bearer"
            raise refused
        return known

    async def load_key(self, request: Request, requests: Requests) -> ApiKey | None:
        """Returns the key of a request, read outside the event loop. Raises ``Refusal``: 401, or 503 while the process
        ends."""
        if requests.closing:
            raise shutting_down()
        return await requests.look(partial(self.key, request))

    def agent(self, key: ApiKey | None) -> Agent:
        """Returns the agent as the user of the key. One without memory knows what was made with it alone: the turns of
        the user's other conversations are memory, too."""
        if key is None:
            return self._agent
        agent = self._agent.of(key.user)
        store = agent.store if key.memory else agent.store.narrow(key.id)
        return replace(agent, store=store, apart=not key.memory, library=agent.library if key.documents else None)

    def begin(self, key: ApiKey | None) -> Callable[[], None]:
        """Counts a request; the caller calls the result when the request has ended. Raises ``Refusal`` (429) above the
        limits of the settings."""
        name, now = key.id if key else "", time.monotonic()
        with self._change:
            used = self._used.setdefault(name, _Used())
            while used.moments and used.moments[0] < now - WINDOW:
                used.moments.popleft()
            if len(used.moments) >= self._settings.api_rate:
                raise _too_many("requests a minute", self._settings.api_rate, int(WINDOW - now + used.moments[0]) + 1)
            if used.running >= self._settings.api_concurrency:
                raise _too_many("requests at once", self._settings.api_concurrency, 1)
            used.moments.append(now)
            used.running += 1

        def leave() -> None:
            with self._change:
                used.running -= 1

        return leave


def _too_many(what: str, limit: int, wait: int) -> Refusal:
    message = f"Too many {what}; the limit is {limit}. Try again in {wait} s."
    return Refusal(429, message, code="rate_limit_exceeded", kind="rate_limit_error", wait=wait)
