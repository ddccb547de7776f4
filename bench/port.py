"""Ports for servers that a bench or a test starts."""

from __future__ import annotations

import fcntl
import os
import random
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

_FIRST, _LAST = 12_000, 22_000
"""Below those that systems give out by themselves, also with 10,000 more (a Valkey's cluster bus): nothing that asks
for any port takes one of these between its choice and its use."""
_RESERVED = Path(tempfile.gettempdir()) / f"gieok-ports-{os.getuid()}"
"""A locked file for each port that a living process of this user has chosen: a server listens only seconds later."""
_locks = list[int]()
"""Open files whose locks end with this process, and with the servers that it forks."""


def _ports() -> Iterator[int]:
    at = random.randrange(_LAST - _FIRST)
    while True:
        yield _FIRST + at
        at = (at + 1) % (_LAST - _FIRST)


_next = _ports()


def free_port() -> int:
    """Returns a port on which nothing listens, and another one at each call, in all processes of this user."""
    for port in _next:
        with socket.socket() as tried:
            try:
                tried.bind(("127.0.0.1", port))
            except OSError:
                continue
        if _reserve_port(port):
            return port
    raise AssertionError("unreachable")


def _reserve_port(port: int) -> bool:
    """Locks a port's file until this process ends; returns False where another process has."""
    _RESERVED.mkdir(mode=0o700, exist_ok=True)
    file = os.open(_RESERVED / str(port), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        return False
    _locks.append(file)
    return True


def is_taken(port: int) -> bool:
    """Returns whether something listens on a port."""
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


__all__ = ["free_port", "is_taken"]
