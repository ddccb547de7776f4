"""Advisory file locks between processes, by ``flock``: Linux and macOS (on Windows, run Gieok under WSL).

The kernel releases a lock when its process ends, also after a crash. So no lock is ever stale.
"""

from __future__ import annotations

import errno
import fcntl
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import private
from errors import DiskFull, StoreUnavailable


def open_lock(path: Path) -> int:
    """Opens a lock file and returns its descriptor; creates the file when it is missing. Child processes do not inherit
    the descriptor."""
    private.make_folder(path.parent)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def try_lock(descriptor: int, kind: int = fcntl.LOCK_EX) -> bool:
    """Takes the lock if it is free now; returns whether it was."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def release_lock(descriptor: int) -> None:
    """Releases the lock; the descriptor stays open."""
    fcntl.flock(descriptor, fcntl.LOCK_UN)


def is_lock_held(path: Path) -> bool:
    """Returns whether some process holds the lock of this file for itself alone.

    The look takes a shared lock for a moment: two lookers do not take each other for a holder. Whoever wants the lock
    for itself may meet a looker, and tries again.
    """
    descriptor = open_lock(path)
    try:
        return not try_lock(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


@contextmanager
def translate_disk_errors(path: Path) -> Iterator[None]:
    """Raises ``DiskFull`` or ``StoreUnavailable`` for ``path`` in place of an ``OSError`` of the block."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise DiskFull(path=path, needed="more", free="none") from error
        raise StoreUnavailable(where=path, reason=error.strerror or str(error)) from error


@contextmanager
def hold_file_lock(path: Path, waiting: Callable[[], None] = lambda: None, pause: float = 0.2) -> Iterator[None]:
    """Holds the lock during the block. Until the lock is free, calls ``waiting()`` every ``pause`` seconds."""
    descriptor = open_lock(path)
    try:
        sleeper = threading.Event()
        while not try_lock(descriptor):
            waiting()
            sleeper.wait(pause)
        yield
    finally:
        os.close(descriptor)
