"""Clients that run in a browser (CORS): which pages may read the endpoint's answers.

The pages of this machine may, where the request names this machine: what they could send, any program here could. Other
pages only if the settings name them. A foreign page that reaches us by a name of its own is refused before (``Host``).
"""

from __future__ import annotations

from collections.abc import Sequence

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from server.header import FIT, LEFT_OUT, SESSION, TURN
from server.network.host import LOOPBACK

LOOPBACK_ORIGIN = r"https?://(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?"
READABLE = (SESSION, TURN, FIT, LEFT_OUT, "x-request-id", "Retry-After", "x-should-retry", "Mcp-Session-Id")
"""Headers of our answers that a page may read."""
REMEMBERED_SECONDS = 600


class Origins:
    """ASGI middleware that answers browsers. ``origins``: of the settings, such as https://chat.example.com."""

    def __init__(self, app: ASGIApp, origins: Sequence[str]) -> None:
        self._here = _allow_origins(app, origins, LOOPBACK_ORIGIN)
        self._elsewhere = _allow_origins(app, origins, None)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_here = scope["type"] == "http" and _name_host(scope) in LOOPBACK
        await (self._here if is_here else self._elsewhere)(scope, receive, send)


def _allow_origins(app: ASGIApp, origins: Sequence[str], pattern: str | None) -> ASGIApp:
    return CORSMiddleware(
        app,
        allow_origins=origins,
        allow_origin_regex=pattern,
        allow_methods=["GET", "POST", "DELETE"],
        allow_headers=["*"],
        expose_headers=READABLE,
        max_age=REMEMBERED_SECONDS,
    )


def _name_host(scope: Scope) -> str:
    name = Headers(scope=scope).get("host", "").lower()
    return name[1:].partition("]")[0] if name.startswith("[") else name.partition(":")[0]


__all__ = ["Origins"]
