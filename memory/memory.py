"""The door to long-term memory: one object shared by all sessions of a process, with a part for each thing one does.

``reader`` reads, ``writer`` writes facts and changes by hand, ``folds`` lets M_i be written after the answer, and
``eraser`` forgets. Rows in the database are the truth; Redis holds a copy of what a turn reads (design 6). Nothing here
fails because Redis is away.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import private
from memory.eraser import MemoryEraser
from memory.export import migration, portable
from memory.folds import MemoryFolds
from memory.reader import USER, MemoryReader
from memory.redis.link import Link
from memory.redis.working_memory import WorkingMemory
from memory.writer import MemoryWriter
from settings import Settings
from store import Store
from store.lock import session_lock


class Memory:
    """Long-term memory. Thread-safe; any number of processes may share a Redis and a database."""

    def __init__(self, settings: Settings, store: Store) -> None:
        rows, working = migration.open_rows(store), WorkingMemory(int(settings.memory_ttl * 3_600_000))
        self._rows = rows
        if settings.redis_url is None:
            migration.remove_old_files(settings.data_dir / "memory")
        self._link = Link(settings.redis_url, settings.data_dir / "memory", self._remove_stale, self._remove_stale)
        hold: Callable[[str], AbstractContextManager[None]] = session_lock(store.engine, settings.data_dir).hold
        self.reader = MemoryReader(settings, rows, self._link, working)
        self.writer = MemoryWriter(settings, rows)
        self.folds = MemoryFolds(settings, rows, hold)
        self.eraser = MemoryEraser(settings, store, rows, self.writer, self._link, working)
        self._link.catch_up()

    @classmethod
    def open(cls, settings: Settings, store: Store) -> Memory:
        """Opens the memory; Redis is reached in the background. Raises ``BadSetting`` for a bad ``REDIS_URL``."""
        private.restrict_to_owner(settings.data_dir)
        return cls(settings, store)

    def close(self) -> None:
        """Closes the connections; the embedded server stops with its last user."""
        self._link.close()

    @property
    def away(self) -> str | None:
        """Returns why Redis cannot be used now, or None. Memory works all the same, without its fast copy."""
        return self._link.away

    @property
    def starting(self) -> bool:
        """Tells whether Redis has not been tried yet since the memory was opened; this lasts a moment."""
        return self._link.starting

    def wait(self, seconds: float) -> bool:
        """Waits until Redis can be used; for command line, benches and tests. False after ``seconds``."""
        return self._link.wait(seconds)

    def export_user(self, tenant: str, user: str = USER) -> dict[str, Any]:
        """Returns all memories of a user as plain JSON data."""
        return portable.export_user(self._rows, tenant, user)

    def import_user(self, tenant: str, data: dict[str, Any], user: str = USER) -> int:
        """Imports an export for this tenant and user; keeps memories that exist. Returns how many were imported.

        Raises ``BadImport`` and changes nothing then.
        """
        return portable.import_user(self._rows, tenant, user, data)

    def _remove_stale(self, client: Any) -> None:
        # Redis may be reached before the object is whole
        if eraser := getattr(self, "eraser", None):
            eraser.remove_stale(client)
