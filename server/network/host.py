"""The addresses at which the page answers: this machine's own, and those of the settings."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from server.network.reach import load_readable_settings, own_address, render_settings_phrase
from settings import find_variable_name

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^\s:/?#@\[\]]+))(?::\d*)?", re.IGNORECASE)


def _build_plain_refusal(sentence: str, _: str) -> Response:
    return PlainTextResponse(sentence, 403)


class HostGuard:
    """ASGI middleware that refuses every request and websocket with a foreign name in ``HostGuard`` or ``Origin``.

    Without a login the page belongs to whoever reaches it on this machine. A site that points its own name to
    127.0.0.1 (DNS rebinding) would reach the page too, in the user's own browser; the name in ``HostGuard`` and
    ``Origin`` gives the site away. Streamlit only compares the two headers with each other, and its
    ``server.allowedHosts`` checks only websockets. The address at which a request arrived is no name, so it is known as
    well.
    """

    def __init__(
        self, app: ASGIApp, answer: Callable[[str, str], Response] = _build_plain_refusal, origins: Collection[str] = ()
    ) -> None:
        """``answer``: the refusal of a sentence and a path. ``origins``: foreign pages that may send requests."""
        self._app, self._answer, self._origins = app, answer, origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or _is_known(scope, self._origins):
            await self._app(scope, receive, send)
        else:
            await self._answer(_render_host_refusal(), scope["path"])(scope, receive, send)


def _is_known(scope: Scope, pages: Collection[str]) -> bool:
    """Returns whether the request names exactly one host and every name in it is known. Only browsers send
    ``Origin``."""
    headers, settings = Headers(scope=scope), load_readable_settings()
    known = LOOPBACK.union(settings.hosts if settings else (), own_address(scope))
    hosts = headers.getlist("host")
    origins = [origin.partition("://")[2] for origin in headers.getlist("origin") if origin not in pages]
    return len(hosts) == 1 and all(name in known for name in _parse_host_names([*hosts, *origins]))


def _parse_host_names(places: Iterable[str]) -> Iterator[str]:
    """Yields the host of each ``host:port`` in the form for comparison; an empty text where there is no host."""
    for place in places:
        match = _HOST.fullmatch(place)
        yield (match[1] or match[2]).lower().removesuffix(".") if match else ""


def _render_host_refusal() -> str:
    return render_settings_phrase(load_readable_settings(), "host.refused", name=find_variable_name("hosts"))
