"""What becomes of a session's memory when one of its turns is left out: what the later turns told moves with them, also
while long-term memory is switched off, for it may be switched on later."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlalchemy import Connection, select

from memory.key import Scope
from memory.row.profile import copy_facts_earlier
from memory.row.rows import (
    Head,
    bump_session_revision,
    change_lines,
    change_source,
    is_on_path,
    match_session,
    read_head,
)
from store.database import memory_table as table
from store.path import Path


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
        head = replace(read_head(connection, scope), path=forked)
        copy_facts_earlier(connection, head, path, number)
        _move_forgettings(connection, head, path, number)
        if head.skipped >= number:
            change_source(connection, scope, skipped=head.skipped - 1)

    return write


def _move_forgettings(connection: Connection, head: Head, path: Path, number: int) -> None:
    """Gives what the user had forgotten the number that its newest turn has without turn ``number``. It counts on every
    branch, so it is not copied."""
    line = table.line.c
    later = (*match_session(table.line, head.scope), line.kind == "forgotten", line.turn >= number)
    for row in connection.execute(select(line.id, line.branch, line.turn).where(*later)).all():
        if is_on_path(path, row.branch, row.turn):
            change_lines(connection, [row.id], turn=row.turn - 1, branch=head.branch_of(row.turn - 1))
