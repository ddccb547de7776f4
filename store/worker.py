"""The name of a process, under which it writes what it works on, so that others see when it is gone."""

from __future__ import annotations

import os
import socket
import time
from functools import cache

import psutil

BEAT_SECONDS = 10.0
"""How often a process says that it lives."""
LOST_SECONDS = 60.0
"""How long a process on another machine may be silent before it counts as gone."""


def build_worker_name() -> str:
    """Returns the name of this process: machine, id, and when it began."""
    return _cache_worker_name(os.getpid())


def is_gone(name: str, beat: float) -> bool:
    """Returns whether the process does not run any more. ``beat``: when it last said that it lives (Unix seconds).

    A process on this machine is looked up, and one that has ended but was not waited for yet runs no more; one on
    another machine counts as gone when it was silent for long.
    """
    machine, _, rest = name.partition("/")
    pid, _, _ = rest.partition("/")
    if machine != _read_machine_name() or not pid.isdecimal():
        return time.time() - beat > LOST_SECONDS
    try:
        return _read_worker_name(int(pid)) != name or psutil.Process(int(pid)).status() == psutil.STATUS_ZOMBIE
    except psutil.Error:
        return True


@cache
def _cache_worker_name(pid: int) -> str:
    """Returns the name of this process, the same while it lives: when it began is told by a clock that may be set."""
    return _read_worker_name(pid)


def _read_worker_name(pid: int) -> str:
    return f"{_read_machine_name()}/{pid}/{psutil.Process(pid).create_time():.2f}"


def _read_machine_name() -> str:
    return socket.gethostname()[:100].replace("/", "_")
