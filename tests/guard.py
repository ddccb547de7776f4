"""No test reaches beyond this machine: loopback and Unix sockets only, else the test fails with the host's name.

Use in ``tests/conftest.py``: ``from tests.guard import no_network`` (and ``__all__ = ["no_network"]``); it then holds
for every test and every thread of the test process, not for the processes that a test starts. An audit hook sees
what pytest-socket cannot: name look-ups, ``connect_ex``, datagrams, what threads open after their test.
"""

from __future__ import annotations

import ipaddress
import socket
import sys
from collections.abc import Iterator
from typing import Any

import pytest

_LOOKUPS = ("socket.getaddrinfo", "socket.gethostbyname")
_SENDS = ("socket.connect", "socket.sendto", "socket.sendmsg")
_tried: list[str] = []


class NetworkBlocked(RuntimeError):
    """Something in a test tried to reach a host beyond this machine."""

    def __init__(self, host: str) -> None:
        super().__init__(f"a test tried to reach {host!r}; only this machine is allowed (tests/guard.py)")


@pytest.fixture(autouse=True)
def no_network() -> Iterator[None]:
    """Fail the test that reached out, also when the code under test swallowed the error."""
    _tried.clear()
    yield
    hosts, _tried[:] = list(_tried), []
    if hosts:
        raise NetworkBlocked(", ".join(dict.fromkeys(hosts)))


def is_here(host: str) -> bool:
    """Whether the name or address is this machine."""
    if host in ("", "localhost", socket.gethostname()) or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def _audit(event: str, args: tuple[Any, ...]) -> None:
    if event in _LOOKUPS:
        host = args[0]
    elif event in _SENDS and isinstance(args[1], tuple):
        host = args[1][0]
    else:
        return
    name = host.decode() if isinstance(host, bytes) else str(host or "")
    if not is_here(name):
        _tried.append(name)
        raise NetworkBlocked(name)


sys.addaudithook(_audit)
