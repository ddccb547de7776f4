"""One session, one turn at a time: LangGraph has no guard, and two runs at once silently lose a turn (design §3).

SQLite: a thread lock within the process and ``flock`` between processes; the kernel releases it on kill -9.
PostgreSQL: an advisory lock, so that machines that share the database share the lock.
(Linux and macOS; on Windows use WSL.)
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import URL, create_engine, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from errors import SessionBusy
from store.database import translated


class SessionLock(Protocol):
    """Holds a session for one turn."""

    def hold(self, session_id: str) -> Any:
        """A context manager; raises ``SessionBusy`` at once when somebody else holds the session."""


class FileLock:
    """Locks of one data folder. ``flock`` belongs to the open file, so two threads exclude each other as well."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def hold(self, session_id: str) -> Iterator[None]:
        path = self._folder / f"{_digest(session_id).hex()[:32]}.lock"
        with translated(str(path)):
            self._folder.mkdir(parents=True, exist_ok=True)
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            self._lock(handle, session_id)
            yield
        finally:
            os.close(handle)

    @staticmethod
    def _lock(handle: int, session_id: str) -> None:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SessionBusy(session=session_id) from None


class AdvisoryLock:
    """Advisory locks of a PostgreSQL database: a connection of its own for each held session, outside the store's pool.

    The server releases the lock when the connection ends, however it ends.
    """

    def __init__(self, url: URL) -> None:
        self._engine = create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT")

    @contextmanager
    def hold(self, session_id: str) -> Iterator[None]:
        key = int.from_bytes(_digest(session_id)[:8], "big", signed=True)
        with translated("DATABASE_URL"):
            connection = self._engine.connect()
        with connection:
            with translated("DATABASE_URL"):
                free = connection.execute(text("SELECT pg_try_advisory_lock(:key)"), {"key": key}).scalar()
            if not free:
                raise SessionBusy(session=session_id)
            try:
                yield
            finally:  # closing alone would do, but not before the server has noticed
                with suppress(DBAPIError):
                    connection.execute(text("SELECT pg_advisory_unlock(:key)"), {"key": key})


def _digest(session_id: str) -> bytes:
    return hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).digest()


def session_lock(engine: Any, data_dir: Path) -> SessionLock:
    """The lock that fits the store: advisory on PostgreSQL, files otherwise."""
    return AdvisoryLock(engine.url) if engine.dialect.name == "postgresql" else FileLock(data_dir / "lock")
