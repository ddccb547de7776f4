"""A model call that another thread can cut off at once (design 2.5).

Closing an HTTP client does not wake a thread that waits in ``recv``. Shutting the client's socket down does, and the
server sees the disconnect and stops generating. The socket comes from httpcore's ``trace`` extension, which reports it
only when a connection opens. So every request opens its own connection: a kept-alive one would send no ``connect``
event.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx2

from errors import BadSetting, ModelTimeout, ModelUnreachable, redacted
from model.call.fault import NO_CREDIT


class Cut(Exception):
    """The error of a call that was cut off; nobody waits for its answer."""


class Call:
    """One running model call: its connections, and whether it was cut off."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._off = threading.Event()

    @property
    def is_cut(self) -> bool:
        """Whether ``cut`` was called."""
        return self._off.is_set()

    def check(self) -> None:
        """Raises ``Cut`` when the call was cut off."""
        if self.is_cut:
            raise Cut

    def hold(self, connection: socket.socket) -> None:
        """Remembers a connection; shuts it down at once when the call was cut off before."""
        with self._lock:
            self._sockets.append(connection)
        if self.is_cut:
            self.cut()

    def cut(self) -> None:
        """Shuts down every connection of the call, which wakes a thread that reads from one. May be called twice."""
        self._off.set()
        with self._lock:
            connections, self._sockets = self._sockets, []
        for connection in connections:
            with contextlib.suppress(OSError):
                socket.socket.shutdown(connection, socket.SHUT_RDWR)  # SSLSocket.shutdown drops its TLS state mid-read

    def wait(self, seconds: float) -> None:
        """Sleeps for ``seconds``; raises ``Cut`` as soon as the call is cut off."""
        self._off.wait(seconds)
        self.check()


current: ContextVar[Call | None] = ContextVar("model_call", default=None)
"""The call that this thread works for; None outside ``stream`` and ``interruptible``."""


def _redact(record: logging.LogRecord) -> bool:
    """Removes the secrets from a request's address in a log record."""
    if isinstance(record.args, tuple):
        record.args = tuple(redacted(str(arg)) if isinstance(arg, httpx2.URL) else arg for arg in record.args)
    return True


for _name in ("httpx2", "openai._base_client"):
    logging.getLogger(_name).addFilter(_redact)


class Transport(httpx2.BaseTransport):
    """HTTP transport that ties every request to its ``Call`` and prevents a retry after a time-out or an empty account.

    Raises ``ModelTimeout``, ``ModelUnreachable`` (no connection in time) and ``Cut``. None of them is an error of
    httpx, so the OpenAI client does not retry them. The constructor raises ``BadSetting`` when the address of the
    system's proxy is invalid.
    """

    def __init__(self, url: str, seconds: float) -> None:
        self._url, self._seconds = url, seconds
        try:
            self._inner = httpx2.HTTPTransport(proxy=_proxy(url), limits=httpx2.Limits(max_keepalive_connections=0))
        except (ValueError, httpx2.InvalidURL) as error:
            reason = "it is no address of a proxy"
            raise BadSetting(name="HTTPS_PROXY", value="…", reason=reason, reason_code="proxy") from error

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Sends one request under the current call."""
        call = current.get()
        if call:
            call.check()
            request.extensions = {**request.extensions, "trace": tracer(call)}
        try:
            response = self._inner.handle_request(request)
            if response.status_code == 429 and any(code.encode() in response.read() for code in NO_CREDIT):
                response.headers["x-should-retry"] = "false"  # the OpenAI client obeys this header
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
        """Closes the remaining connections."""
        self._inner.close()


def tracer(call: Call) -> Callable[[str, dict[str, Any]], None]:
    """Returns the ``trace`` extension of a request, through which the call learns its sockets."""

    def trace(event: str, info: dict[str, Any]) -> None:
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            call.hold(info["return_value"].get_extra_info("socket"))

    return trace


def _proxy(url: str) -> str | None:
    """Returns the system's proxy for this address; None for this machine's own addresses and for hosts that bypass the
    proxy."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if is_loopback(host) or proxy_bypass(host):
        return None
    proxy = getproxies().get(parts.scheme) or getproxies().get("all")
    return f"http://{proxy}" if proxy and "://" not in proxy else proxy


def is_loopback(host: str) -> bool:
    """Returns whether the host name or address is this machine."""
    return host in ("localhost", "::1") or host.endswith(".localhost") or host.startswith("127.")
