"""Keeps sessions apart from what a user's conversations share, also while long-term memory is switched off: it may be
switched on later, and then nothing of them may be found."""

from __future__ import annotations

from memory.key import Scope
from memory.row.rows import MemoryRows, change_source, read_head
from store import Store


def set_session_apart(rows: MemoryRows, tenant: str, session: str, user: str) -> None:
    """Keeps a session apart: it neither sees what other conversations told nor do they see what it tells. Writes
    once."""
    scope = Scope(tenant, session)
    with rows.transaction() as connection:
        if read_head(connection, scope).apart:
            return
    with rows.writing(scope, user) as connection:
        change_source(connection, scope, apart=True)


def keep_copy_apart(store: Store, tenant: str, session: str, copy: str, user: str) -> None:
    """Keeps the copy of a session apart where the session is."""
    rows = MemoryRows(store)
    with rows.transaction() as connection:
        is_apart = read_head(connection, Scope(tenant, session)).apart
    if is_apart:
        set_session_apart(rows, tenant, copy, user)
