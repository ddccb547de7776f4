"""The page's Content-Security-Policy: a browser gets pictures and sounds from this server alone, whatever an answer's
Markdown says, and shows the page in no frame of another site, which could have its user press a button unseen."""

from __future__ import annotations

from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.network.host import HostGuard
from server.network.reach import ReachGuard, load_readable_settings

POLICY = "img-src 'self' data: blob:; media-src 'self' data: blob:"

NOBODY = "'none'"


class Policy:
    """ASGI middleware that sends the Content-Security-Policy with every response.

    The browser enforces the policy where a rewriting of Markdown cannot: no parser of Gieok's knows everything that
    Streamlit's parser reads as a picture.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_message(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (b"content-security-policy", _build_policy_header())]
            await send(message)

        await self._app(scope, receive, send_message)


def _build_policy_header() -> bytes:
    settings = load_readable_settings()
    sites = settings.frame_ancestors if settings else ()
    return f"{POLICY}; frame-ancestors {' '.join(sites or (NOBODY,))}".encode()


def build_page_middleware(login: bool) -> list[Middleware]:
    """Returns the middleware of the whole server, the outermost first. ``login``: whether Streamlit's is set up."""
    return [Middleware(ReachGuard, login=login), Middleware(HostGuard), Middleware(Policy)]
