"""One turn at a time per session: LangGraph has no guard, and two runs at once silently lose a turn (design 3.4).

SQLite: ``flock``, between threads and between processes; the kernel releases the lock on kill -9. PostgreSQL: an
advisory lock, so that machines that share the database share the lock. (Linux and macOS; on Windows use WSL.)
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import URL, create_engine, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

import private
from errors import SessionBusy
from store.database.engine import translate_database_errors


class SessionLock(Protocol):
    """A lock that holds a session for one turn."""

    def hold(self, session_id: str) -> Any:
        """Returns a context manager that raises ``SessionBusy`` at once when somebody else holds the session."""


class ProcessLock:
    """Locks within one process, for sessions that no other process can reach; writes nothing to disk."""

    def __init__(self) -> None:
        self._held: set[str] = set()
        self._change = threading.Lock()

    @contextmanager
    def hold(self, session_id: str) -> Iterator[None]:
        with self._change:
            if session_id in self._held:
                raise SessionBusy(session=session_id)
            self._held.add(session_id)
        try:
            yield
        finally:
            with self._change:
                self._held.discard(session_id)


class FileLock:
    """Locks of one data folder. ``flock`` belongs to the open file, so two threads exclude each other as well."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def hold(self, session_id: str) -> Iterator[None]:
        path = self._folder / f"{_hash_session_id(session_id).hex()[:32]}.lock"
        with translate_database_errors(str(path)):
            private.make_folder(self._folder)
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
    """Advisory locks of a PostgreSQL database. Each held session has a connection of its own, outside the store's pool.

    The server releases the lock when the connection ends, for whatever reason.
    """

    def __init__(self, url: URL) -> None:
        self._engine = create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT")

    @contextmanager
    def hold(self, session_id: str) -> Iterator[None]:
        key = int.from_bytes(_hash_session_id(session_id)[:8], "big", signed=True)
        with translate_database_errors("DATABASE_URL"):
            connection = self._engine.connect()
        with connection:
            with translate_database_errors("DATABASE_URL"):
                free = connection.execute(text("SELECT pg_try_advisory_lock(:key)"), {"key": key}).scalar()
            if not free:
                raise SessionBusy(session=session_id)
            try:
                yield
            finally:  # closing alone releases the lock only when the server notices
                with suppress(DBAPIError):
                    connection.execute(text("SELECT pg_advisory_unlock(:key)"), {"key": key})


def _hash_session_id(session_id: str) -> bytes:
    return hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).digest()


def session_lock(engine: Any, data_dir: Path) -> SessionLock:
    """Returns the lock that fits the store: advisory on PostgreSQL, files otherwise."""
    if engine.dialect.name == "postgresql":
        return AdvisoryLock(engine.url)
    private.restrict_folder_to_owner(data_dir / "lock")
    return FileLock(data_dir / "lock")
