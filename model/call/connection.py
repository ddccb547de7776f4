"""Connections that a model call can cut off at every step: name lookup, connecting, TLS, writing, reading.

``make_cuttable`` gives httpx's transport a network backend of ours. Every operation on a connection runs in the thread
of its call, and tells the call its socket for as long as it lasts. So a kept-alive connection can be cut off as well as
a new one.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import ssl
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from typing import Any

import httpcore2
import httpx2
from httpcore2._backends.sync import SyncStream  # public names make no stream of a socket

from model.call.abort import hold_connection, run_beside_call
from text.ip_address import is_loopback_address

Address = tuple[Any, ...]
_QUICK: int | None = getattr(socket, "TCP_QUICKACK", None)
"""Linux's option; it holds for the next packets only (tcp(7))."""


def make_cuttable(transport: httpx2.HTTPTransport) -> httpx2.HTTPTransport:
    """Makes a new transport open its connections here; returns the transport."""
    transport._pool._network_backend = _Backend()  # httpx passes no backend on to its pool
    return transport


def is_loopback_host(host: str) -> bool:
    """Returns whether the host name or address is this machine; names under «localhost» are (RFC 6761, section 6.3)."""
    return host.lower().endswith(".localhost") or is_loopback_address(host)


@cache
def load_system_authorities() -> ssl.SSLContext:
    """Returns what this system trusts, without the environment's additions. Reading it takes 25 ms, so it is read
    once."""
    return httpx2.create_ssl_context(trust_env=False)


class Stream(httpcore2.NetworkStream):
    """A connection. ``longest``: the most seconds of a read, beside its own time-out; None: no such limit."""

    def __init__(self, inner: httpcore2.NetworkStream) -> None:
        self._inner = inner
        self.longest: float | None = None

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        limits = [limit for limit in (timeout, self.longest) if limit is not None]
        with hold_connection(self._socket):
            self._acknowledge()
            return self._inner.read(max_bytes, min(limits, default=None))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        with hold_connection(self._socket):
            self._inner.write(buffer, timeout)

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        # the handshake takes the descriptor out of this socket, so the call holds another one of the same connection
        with socket.socket(fileno=os.dup(self._socket.fileno())) as same, hold_connection(same):
            return Stream(self._inner.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)

    def _acknowledge(self) -> None:
        """Has what arrives acknowledged at once. Linux waits 40 ms on a connection that is used again, and a server
        that gathers small packets (Nagle) waits with it, also before the first word."""
        if _QUICK is not None:
            with suppress(OSError):
                self._socket.setsockopt(socket.IPPROTO_TCP, _QUICK, 1)

    @property
    def _socket(self) -> socket.socket:
        connection: socket.socket = self._inner.get_extra_info("socket")
        return connection


class _Backend(httpcore2.NetworkBackend):
    """Opens TCP connections as ``httpcore2.SyncBackend`` does."""

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        try:
            connection = _open_connection(host, port, timeout, local_address)
        except TimeoutError as error:
            raise httpcore2.ConnectTimeout(str(error)) from error
        except OSError as error:
            raise httpcore2.ConnectError(str(error)) from error
        for option in (*(socket_options or ()), (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)):
            connection.setsockopt(*option)
        return Stream(SyncStream(connection))


def _open_connection(host: str, port: int, timeout: float | None, source: str | None) -> socket.socket:
    """Returns a connection to the first address of the host that takes one. Raises ``OSError``."""
    failure = OSError(f"{host} has no address")
    for family, kind, protocol, _, address in _look_up_addresses(host, port, timeout):
        connection = socket.socket(family, kind, protocol)
        try:
            connection.settimeout(timeout)
            if source:
                connection.bind((source, 0))
            with hold_connection(connection):
                connection.connect(address)
            return connection
        except OSError as error:
            connection.close()
            failure = error
        except BaseException:
            connection.close()
            raise
    raise failure


def _look_up_addresses(host: str, port: int, timeout: float | None) -> list[Any]:
    """Returns the addresses of a host, as ``socket.getaddrinfo`` does. Raises ``OSError``."""

    def look_up() -> list[Any]:
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)

    with suppress(ValueError):
        ipaddress.ip_address(host)
        return look_up()
    return look_up() if is_loopback_host(host) else run_beside_call(look_up, timeout)
