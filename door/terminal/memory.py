"""Long-term memory on the command line: clean-up, export, import and erasure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import private
from errors import BadImport, StoreUnavailable
from memory import USER, Memory
from settings import Settings
from store import Store
from store.export.portable import dump_json

READY_SECONDS = 10.0


@contextmanager
def open_memory_and_store(settings: Settings) -> Iterator[tuple[Memory, Store]]:
    """Opens memory and record, and waits for Redis, at most ``READY_SECONDS``; the copy in a Redis that cannot be
    reached is removed later."""
    store = Store(settings.database)
    memory = Memory.open(settings, store)
    try:
        memory.wait(READY_SECONDS)  # so that what is erased leaves Redis now
        yield memory, store
    finally:
        memory.close()
        store.close()


def clean_up_memory(settings: Settings) -> dict[str, int]:
    """Erases leftovers and the memories of deleted sessions; returns counts of ``orphans`` and
    ``leftovers``."""
    with open_memory_and_store(settings) as (memory, _):
        return memory.eraser.clean_up(settings.tenant)


def export_memory_file(settings: Settings, file: Path) -> int:
    """Writes all memory of the user as JSON; only the user may read the file. Returns the number of memories.

    Raises ``StoreUnavailable`` when the file cannot be written.
    """
    with open_memory_and_store(settings) as (memory, _):
        data = memory.export_user(settings.tenant, USER)
    try:
        private.make_file(file)
        file.write_text(dump_json(data), "utf-8")
    except OSError as error:
        raise StoreUnavailable(where=str(file), reason=error.strerror or str(error)) from error
    return len(data["memories"])


def import_memory_file(settings: Settings, file: Path) -> int:
    """Takes in a file of ``export_memory_file``; memories that exist stay as they are. Returns how many came in. Raises
    ``BadImport``."""
    try:
        data = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        detail = f"{type(error).__name__} {error}"
        raise BadImport(reason=detail, reason_code="json", detail=detail) from error
    if not isinstance(data, dict):
        raise BadImport(reason="it holds no object", reason_code="no_object")
    with open_memory_and_store(settings) as (memory, _):
        return memory.import_user(settings.tenant, data, USER)


def erase_user_memory(settings: Settings) -> int:
    """Erases all memory of the user, everywhere; returns the number of memories."""
    with open_memory_and_store(settings) as (memory, _):
        return memory.eraser.erase_user(settings.tenant, USER)
