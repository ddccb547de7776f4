"""The lock of a memory during a fold: one holder at a time among all processes, with a fencing token (design 6.2).

The lock is a lease that its holder renews while it lives. Another process detects a killed holder at once when the
holder ran on this machine, even if a new process has its process number, as after a restart of a container. A killed
holder on another machine is detected when its lease ends. A holder whose lease has ended cannot write, because of the
token: each holder gets a higher token, and the store refuses a fold with an older one.
"""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from errors import MemoryAway
from memory.key import Scope
from memory.redis.address import Client
from memory.redis.link import Link

LEASE_SECONDS = 30.0
"""Length of the lease in seconds; renewed after a third of it."""

_TAKE = """
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[3] then return {0, holder} end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
local now = redis.call('TIME')
local token = math.max(now[1] * 1000000 + now[2], tonumber(redis.call('HGET', KEYS[2], 'token') or '0') + 1)
redis.call('HSET', KEYS[2], 'token', string.format('%.0f', token))
return {token, ''}
"""
_RENEW = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0"
_LEAVE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"


class Held(Exception):
    """The error raised when another holder is folding this memory."""


@contextmanager
def hold(link: Link, scope: Scope, lease: float = LEASE_SECONDS) -> Iterator[int]:
    """Holds the lock of the memory for a fold; yields the fencing token. Raises ``Held`` at once, or ``MemoryAway``."""
    number = os.getpid()
    owner, key = f"{_machine()} {number} {_born(number)} {uuid.uuid4().hex}", scope.key("lock")
    token = link.run(lambda client: _take(client, scope, owner, lease))
    done = threading.Event()
    renewal = threading.Thread(target=_renew, args=(link, key, owner, lease, done), name="memory-lock", daemon=True)
    renewal.start()
    try:
        yield token
    finally:
        done.set()
        with suppress(MemoryAway):
            link.run(lambda client: client.eval(_LEAVE, 1, key, owner))


def _take(client: Client, scope: Scope, owner: str, lease: float) -> int:
    """Takes the lock and returns the token; replaces a dead holder, and only the one it found dead. Raises ``Held``."""
    dead = ""
    for _ in range(3):
        keys = (scope.key("lock"), scope.key("meta"))
        token, holder = client.eval(_TAKE, 2, *keys, owner, int(lease * 1000), dead)
        if token:
            return int(token)
        dead = holder.decode()
        if not _dead(dead):
            break
    raise Held


def _renew(link: Link, key: str, owner: str, lease: float, done: threading.Event) -> None:
    while not done.wait(lease / 3):
        with suppress(MemoryAway):
            link.run(lambda client: client.eval(_RENEW, 1, key, owner, int(lease * 1000)))


def _dead(holder: str) -> bool:
    """Tells whether the holder was a process of this machine and no longer runs."""
    machine, number, born, *_ = holder.split(" ")
    if machine != _machine():
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass
    return _born(int(number)) != born


def _born(number: int) -> str:
    """Returns the start time of a process in kernel ticks; «-» where it cannot be read (only Linux tells it)."""
    try:
        return Path(f"/proc/{number}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[19]
    except OSError:
        return "-"


def _machine() -> str:
    """Returns an identifier that differs between machines, containers and boots."""
    return f"{os.uname().nodename.replace(' ', '_')}-{uuid.getnode():x}"
