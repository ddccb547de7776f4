"""The seal of what a client carries for us between a question and its answer, by a key of this installation."""

from __future__ import annotations

from collections.abc import Callable

from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity

from door.mcp.caller import Context
from store import Store

KEY = "mcp-request-state"
SECONDS = 3600.0
"""How long a question may wait for its answer through the same client; afterwards it is answered in the app."""


def build_state_boundary(store: Store, user: Callable[[Context], str], name: str) -> RequestStateBoundary:
    """Returns the middleware that seals ``requestState`` and opens it again, in whichever worker. ``user``: whose
    request it is; ``name``: the server's."""
    security = RequestStateSecurity(keys=[store.secrets.of(KEY)], ttl=SECONDS, bind_principal=user)
    return RequestStateBoundary(security, default_audience=name)
