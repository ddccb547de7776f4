"""What a browser may fetch for the page: pictures and sounds from here alone, whatever an answer's Markdown says."""

from __future__ import annotations

from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = b"img-src 'self' data: blob:; media-src 'self' data: blob:"


class Policy:
    """ASGI middleware that sends the Content-Security-Policy with every response.

    The browser holds to it where a rewriting of Markdown cannot: no reader of our own knows all that Streamlit's reads
    as a picture.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (b"content-security-policy", POLICY)]
            await send(message)

        await self._app(scope, receive, sent)


MIDDLEWARE = [Middleware(Policy)]
