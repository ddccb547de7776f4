"""The turn tables of a process, one for each user: read once, then kept up to date by what changed.

All tables together hold ``MOST_BYTES``; those of the users who searched longest ago go first.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from sqlalchemy import Engine

from retrieval.past.turn_table import TurnTable
from store.search.turn_index import TurnIndex

MOST_BYTES = 256_000_000
"""About 100,000 turns: a turn takes 1.5 kB for its vector and 1 to 2 kB for its words."""

_Key = tuple[str | None, str]


@dataclass(slots=True)
class _Kept:
    table: TurnTable = field(default_factory=TurnTable)
    lock: threading.Lock = field(default_factory=threading.Lock)
    bytes: int = 0


_lock = threading.Lock()
_kept: WeakKeyDictionary[Engine, OrderedDict[_Key, _Kept]] = WeakKeyDictionary()


@contextmanager
def current_table(index: TurnIndex, made_by: str) -> Iterator[TurnTable]:
    """Gives the user's table as the database has it now, to one search at a time."""
    key = (index.user, made_by)
    with _lock:
        tables = _kept.setdefault(index.database, OrderedDict())
        kept = tables.setdefault(key, _Kept())
        tables.move_to_end(key)
    with kept.lock:
        changes = index.read_changes(made_by, kept.table.revision)
        if changes.revision != kept.table.revision or not kept.bytes:
            kept.table.apply(changes)
            kept.bytes = kept.table.size
            _make_room(kept)
        yield kept.table


def _make_room(newest: _Kept) -> None:
    """Forgets tables until all have room; a search that uses one keeps it until its end."""
    with _lock:
        room = MOST_BYTES - sum(kept.bytes for tables in _kept.values() for kept in tables.values())
        for tables in list(_kept.values()):
            for key in list(tables):
                if room >= 0:
                    return
                if tables[key] is not newest:
                    room += tables.pop(key).bytes
