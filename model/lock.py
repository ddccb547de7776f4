"""Advisory file locks between processes, by ``flock``: Linux and macOS (on Windows, run Gieok under WSL).

The kernel drops them when their process ends, however it ends, so that none is ever stale.
"""

from __future__ import annotations

import errno
import fcntl
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from errors import DiskFull, StoreUnavailable


def open_lock(path: Path) -> int:
    """A file descriptor to lock; not inherited by child processes. The file is made when it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def try_lock(descriptor: int, kind: int = fcntl.LOCK_EX) -> bool:
    """Take the lock if it is free now."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def unlock(descriptor: int) -> None:
    """Let the lock go; the descriptor stays open."""
    fcntl.flock(descriptor, fcntl.LOCK_UN)


def held(path: Path) -> bool:
    """Whether some process holds this lock."""
    descriptor = open_lock(path)
    try:
        return not try_lock(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def written(path: Path) -> Iterator[None]:
    """What the system says against writing ``path`` in the block is raised as ``DiskFull`` or ``StoreUnavailable``."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise DiskFull(path=path, needed="more", free="none") from error
        raise StoreUnavailable(where=path, reason=error.strerror or str(error)) from error


@contextmanager
def exclusive(path: Path, waiting: Callable[[], None] = lambda: None, pause: float = 0.2) -> Iterator[None]:
    """Hold the lock for the length of the block; ``waiting()`` is called every ``pause`` seconds until it is free."""
    descriptor = open_lock(path)
    try:
        sleeper = threading.Event()
        while not try_lock(descriptor):
            waiting()
            sleeper.wait(pause)
        yield
    finally:
        os.close(descriptor)
