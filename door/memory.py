"""Long-term memory on the command line: clearing up, taking it along, bringing it in, erasing it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from errors import BadImport, SessionUnknown, StoreUnavailable
from memory import USER, Memory
from settings import Settings
from store import Store

READY_SECONDS = 10.0


@contextmanager
def opened(settings: Settings) -> Iterator[tuple[Memory, Store]]:
    """Memory and record, once Redis is reached or ``READY_SECONDS`` are over; what is away is then done later."""
    store = Store(settings.database)
    memory = Memory.open(settings, store)
    try:
        memory.wait(READY_SECONDS)
        yield memory, store
    finally:
        memory.close()
        store.close()


def cleanup(settings: Settings) -> dict[str, int]:
    """Erases memories of sessions that are gone, and leftovers; counts of ``orphans``, ``leftovers``, ``digests``."""
    with opened(settings) as (memory, store):
        return memory.cleanup(settings.tenant, lambda session: _exists(store, session))


def export(settings: Settings, file: Path) -> int:
    """Writes all memory of the user as JSON, readable by the user alone; returns how many memories.

    Raises ``StoreUnavailable`` when the file cannot be written.
    """
    with opened(settings) as (memory, _):
        data = memory.export(settings.tenant, USER)
    try:
        file.touch(mode=0o600)
        file.write_text(json.dumps(data, ensure_ascii=False, indent=1), "utf-8")
    except OSError as error:
        raise StoreUnavailable(where=str(file), reason=error.strerror or str(error)) from error
    return len(data["memories"])


def import_(settings: Settings, file: Path) -> int:
    """Takes in such a file; memories that exist are kept. Raises ``BadImport``."""
    try:
        data = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        detail = f"{type(error).__name__} {error}"
        raise BadImport(reason=detail, reason_code="json", detail=detail) from error
    if not isinstance(data, dict):
        raise BadImport(reason="it holds no object", reason_code="no_object")
    with opened(settings) as (memory, _):
        return memory.import_(settings.tenant, data, USER)


def erase(settings: Settings) -> int:
    """Erases all memory of the user, everywhere; returns how many memories."""
    with opened(settings) as (memory, _):
        return memory.erase_user(settings.tenant, USER)


def _exists(store: Store, session: str) -> bool:
    try:
        store.session(session)
    except SessionUnknown:
        return False
    return True
