"""The HTTP transport of all calls upstream: connections are kept and used again, and a call can be cut off."""

from __future__ import annotations

import contextlib
import logging
import time
import weakref
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx2

from errors import BadSetting, ModelTimeout, ModelUnreachable, redact_addresses
from model.call.abort import CallCut, current
from model.call.connection import Stream, is_loopback_host, make_cuttable
from model.call.fault import NO_CREDIT

CONNECT_SECONDS = 10.0
"""Longest wait for a connection, in seconds."""
KEPT_SECONDS = 30.0
"""How long an unused connection is kept, in seconds: longer than the pauses within a turn, shorter than the minute or
more after which gateways drop it without a word."""
KEPT_CONNECTIONS = 64
"""Most unused connections that are kept for one model."""
REST_SECONDS = 0.05
"""Longest wait for the rest of an answer whose reader has heard enough, in seconds. OpenAI's client reads until
``[DONE]``; the end of the body comes right behind it, and only a connection that was read to its end is used again."""


def _redact_log_record(record: logging.LogRecord) -> bool:
    """Removes the secrets from a request's address in a log record."""
    if isinstance(record.args, tuple):
        record.args = tuple(redact_addresses(str(arg)) if isinstance(arg, httpx2.URL) else arg for arg in record.args)
    return True


for _name in ("httpx2", "openai._base_client"):
    logging.getLogger(_name).addFilter(_redact_log_record)


class Transport(httpx2.BaseTransport):
    """HTTP transport whose requests the current ``Call`` can cut off, and that prevents a retry after a time-out or an
    empty account.

    There is no limit to the connections, so no request waits for another one. ``keep``: whether connections are used
    again. Raises ``ModelTimeout``, ``ModelUnreachable`` (no connection in time) and ``CallCut``. None of them is an
    error of httpx, so the OpenAI client does not retry them. The constructor raises ``BadSetting`` when the address of
    the system's proxy is invalid.
    """

    def __init__(self, url: str, seconds: float, *, keep: bool = True) -> None:
        self._url, self._seconds = url, seconds
        limits = httpx2.Limits(
            max_connections=None,
            max_keepalive_connections=KEPT_CONNECTIONS if keep else 0,
            keepalive_expiry=KEPT_SECONDS,
        )
        try:
            self._inner = make_cuttable(httpx2.HTTPTransport(proxy=_find_proxy(url), limits=limits))
        except (ValueError, httpx2.InvalidURL) as error:
            reason = "it is no address of a proxy"
            raise BadSetting(name="HTTPS_PROXY", value="…", reason=reason, reason_code="proxy") from error
        weakref.finalize(self, self._inner.close)  # nobody closes the client of a model that is no longer in use

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Sends one request under the current call."""
        call = current.get()
        if call:
            call.check()
        try:
            response = self._send_request(request)
            response.stream = _Body(response)
            if response.status_code == 429 and any(code.encode() in response.read() for code in NO_CREDIT):
                response.headers["x-should-retry"] = "false"  # the OpenAI client obeys this header
            return response
        except httpx2.HTTPError as error:
            if call:
                call.check()
            if isinstance(error, httpx2.ConnectTimeout):
                raise ModelUnreachable(url=self._url) from error
            if isinstance(error, httpx2.TimeoutException):
                raise ModelTimeout(url=self._url, seconds=self._seconds) from error
            raise

    def _send_request(self, request: httpx2.Request) -> httpx2.Response:
        """Sends the request; once more when it met a kept connection that the server was just closing."""
        opened = list[str]()

        def trace(event: str, info: dict[str, Any]) -> None:
            if event.endswith("connect_tcp.complete"):
                opened.append(event)

        request.extensions = {**request.extensions, "trace": trace}
        try:
            return self._inner.handle_request(request)
        except (httpx2.RemoteProtocolError, httpx2.ReadError, httpx2.WriteError):
            call = current.get()
            if opened or (call and call.is_cut) or not isinstance(request.stream, httpx2.ByteStream):
                raise
        return self._inner.handle_request(request)

    def close(self) -> None:
        """Closes the remaining connections."""
        self._inner.close()


class _Body(httpx2.SyncByteStream):
    """The body of an answer. Whoever closes it before its end gets the rest read first, if that is there already, so
    that the connection can be used again; not after a cut."""

    def __init__(self, response: httpx2.Response) -> None:
        assert isinstance(response.stream, httpx2.SyncByteStream)
        self._stream, self._connection = response.stream, response.extensions.get("network_stream")
        self._parts: Iterator[bytes] | None = None

    def __iter__(self) -> Iterator[bytes]:
        self._parts = iter(self._stream)
        yield from self._parts

    def close(self) -> None:
        call = current.get()
        try:
            if not (call and call.is_cut) and isinstance(self._connection, Stream):
                self._read_rest(self._connection)
        finally:
            self._stream.close()

    def _read_rest(self, connection: Stream) -> None:
        until = time.monotonic() + REST_SECONDS
        connection.longest = REST_SECONDS
        with contextlib.suppress(httpx2.HTTPError, CallCut):
            for _ in self._parts or self._stream:
                if time.monotonic() > until:
                    break
        connection.longest = None


def _find_proxy(url: str) -> str | None:
    """Returns the system's proxy for this address; None for this machine's own addresses and for hosts that bypass the
    proxy."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if is_loopback_host(host) or proxy_bypass(host):
        return None
    proxy = getproxies().get(parts.scheme) or getproxies().get("all")
    return f"http://{proxy}" if proxy and "://" not in proxy else proxy
