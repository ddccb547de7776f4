"""Another process that writes at the worst moment: right before a write of the store, while its queries may be open."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sqlalchemy import event

from store import Store


@contextmanager
def second_writer(store: Store, file: Path) -> Iterator[list[str]]:
    """Another process that writes before each write of ``store``; yields the statements that it came before.

    SQLite refuses a write («database is locked») when the writer still reads from before another's, so no method may
    write while one of its queries is open."""
    other, before = sqlite3.connect(file, timeout=0, isolation_level=None, check_same_thread=False), list[str]()
    other.execute("CREATE TABLE other (n)")

    def write(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if statement.startswith(("INSERT", "UPDATE", "DELETE")):
            with suppress(sqlite3.OperationalError):  # the store writes already
                other.execute("INSERT INTO other VALUES (1)")
                before.append(statement)

    event.listen(store.engine, "before_cursor_execute", write)
    try:
        yield before
    finally:
        event.remove(store.engine, "before_cursor_execute", write)
        other.close()


__all__ = ["second_writer"]
