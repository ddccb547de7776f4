"""A model call that another thread can cut off at once (design §2 «Stop is cooperative»).

Closing an HTTP client does not wake a thread that waits in ``recv``; shutting its socket down does, and the server
sees the disconnect and stops generating. The socket is learnt from httpcore's ``trace`` extension, so every request
opens a connection of its own: a kept-alive one would send no ``connect`` event.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx2

from errors import BadSetting, ModelTimeout, ModelUnreachable
from model.fault import NO_CREDIT


class Cut(Exception):
    """The call was cut off; nobody waits for its answer."""


class Call:
    """One running model call: knows its connection, and whether it was cut off."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._off = threading.Event()

    @property
    def is_cut(self) -> bool:
        """Whether ``cut`` was called."""
        return self._off.is_set()

    def check(self) -> None:
        """Raise ``Cut`` when the call was cut off."""
        if self.is_cut:
            raise Cut

    def hold(self, connection: socket.socket) -> None:
        """Remember the connection; one that comes after the cut is shut down at once."""
        with self._lock:
            self._sockets.append(connection)
        if self.is_cut:
            self.cut()

    def cut(self) -> None:
        """Shut every connection of the call down; a thread that reads from one wakes. May be called twice."""
        self._off.set()
        with self._lock:
            held, self._sockets = self._sockets, []
        for connection in held:
            with contextlib.suppress(OSError):
                socket.socket.shutdown(connection, socket.SHUT_RDWR)  # a TLS socket's own would drop its state mid-read

    def wait(self, seconds: float) -> None:
        """Sleep, but end with ``Cut`` as soon as the call is cut off."""
        self._off.wait(seconds)
        self.check()


current: ContextVar[Call | None] = ContextVar("model_call", default=None)
"""The call that this thread works for; None outside ``stream``."""


class Transport(httpx2.BaseTransport):
    """Ties every request to its ``Call``, and gives up on time-outs and an empty account instead of trying again.

    Raises ``ModelTimeout``, ``ModelUnreachable`` (no connection in time) and ``Cut``: none of them is httpx's, so the
    OpenAI client does not retry them. To be made with a proxy that cannot be one raises ``BadSetting``.
    """

    def __init__(self, url: str, seconds: float) -> None:
        self._url, self._seconds = url, seconds
        try:
            self._inner = httpx2.HTTPTransport(proxy=_proxy(url), limits=httpx2.Limits(max_keepalive_connections=0))
        except (ValueError, httpx2.InvalidURL) as error:
            reason = "it is no address of a proxy"
            raise BadSetting(name="HTTPS_PROXY", value="…", reason=reason, reason_code="proxy") from error

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request under the current call."""
        call = current.get()
        if call:
            call.check()
            request.extensions = {**request.extensions, "trace": _tracer(call)}
        try:
            response = self._inner.handle_request(request)
            if response.status_code == 429 and any(each.encode() in response.read() for each in NO_CREDIT):
                response.headers["x-should-retry"] = "false"  # which the OpenAI client heeds
            return response
        except httpx2.ConnectTimeout as error:
            raise ModelUnreachable(url=self._url) from error
        except httpx2.TimeoutException as error:
            raise ModelTimeout(url=self._url, seconds=self._seconds) from error
        except httpx2.HTTPError:
            if call:
                call.check()
            raise

    def close(self) -> None:
        """Close the connections that are left."""
        self._inner.close()


def _tracer(call: Call) -> Callable[[str, dict[str, Any]], None]:
    def trace(event: str, info: dict[str, Any]) -> None:
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            call.hold(info["return_value"].get_extra_info("socket"))

    return trace


def _proxy(url: str) -> str | None:
    """The proxy of the system for this address; never one for this machine's own addresses."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if is_loopback(host) or proxy_bypass(host):
        return None
    proxy = getproxies().get(parts.scheme) or getproxies().get("all")
    return f"http://{proxy}" if proxy and "://" not in proxy else proxy


def is_loopback(host: str) -> bool:
    """Whether the host name or address is this machine."""
    return host in ("localhost", "::1") or host.endswith(".localhost") or host.startswith("127.")
