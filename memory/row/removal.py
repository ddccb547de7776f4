"""What becomes of a session's memory when one of its turns is left out: what the later turns told moves with them, also
while long-term memory is switched off, for it may be switched on later."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlalchemy import Connection, func, select

from memory.key import Scope
from memory.row.profile import copy_facts_earlier
from memory.row.rows import (
    Head,
    bump_session_revision,
    change_source,
    match_session,
    read_head,
)
from store.database import memory_table as table
from store.database import schema
from store.path import Path, on_path


def note_turn_removal(tenant: str, session: str, number: int, user: str) -> Callable[[Connection, Path, Path], None]:
    """Returns the function that writes within the transaction that leaves out turn ``number`` (``Tree.remove``): what
    the later turns told stays in the profile. What the turn itself told is on the path no more, and texts that took it
    in are made anew from the turns that are left."""
    scope = Scope(tenant, session)

    def write(connection: Connection, path: Path, forked: Path) -> None:
        known = select(table.source.c.session).where(*match_session(table.source, scope))
        if connection.execute(known).first() is None:  # then it has told nothing
            return
        bump_session_revision(connection, scope, user)
        head = read_head(connection, scope)
        copy_facts_earlier(connection, replace(head, path=forked), path, number)
        if head.skipped:
            _skip_by_moment(connection, head)

    return write


def _skip_by_moment(connection: Connection, head: Head) -> None:
    """Says up to which moment turns are not taken in, in place of up to which number: that is another turn's without
    the one that is left out, and is its own again when that is brought back."""
    turn = schema.turn.c
    skipped = (turn.session_id == head.scope.session, on_path(turn.branch, turn.number, head.path))
    last = select(func.max(turn.started)).where(*skipped, turn.number <= head.skipped)
    moment = max(head.erased_at, connection.execute(last).scalar() or 0.0)
    change_source(connection, head.scope, skipped=0, erased_at=moment)
