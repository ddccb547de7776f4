"""Ports for servers that a test starts."""

from __future__ import annotations

import os
import random
import socket
from collections.abc import Iterator

_FIRST, _LAST, _SHARE = 12_000, 22_000, 1_000
"""Below those that systems give out by themselves, also with 10,000 more (a Valkey's cluster bus): nothing that asks
for any port takes one of these between its choice and its use. Each process of a session of tests has its share."""


def _ports() -> Iterator[int]:
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    start = _FIRST + worker * _SHARE % (_LAST - _FIRST)
    at = random.randrange(_SHARE)
    while True:
        yield start + at
        at = (at + 1) % _SHARE


_next = _ports()


def free_port() -> int:
    """A port on which nothing listens, and another one at each call."""
    for port in _next:
        with socket.socket() as tried:
            try:
                tried.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("unreachable")


def is_taken(port: int) -> bool:
    """Whether something listens on a port."""
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0
