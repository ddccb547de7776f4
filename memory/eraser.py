"""Forgetting: single lines, a session's memory, all memories of a user, and leftovers.

What is forgotten or erased is gone from the rows when the call returns. Copies in Redis go at once, or as soon as Redis
can be reached; until then their stamp is old, so nothing reads them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress

from sqlalchemy import Connection, delete, func, select, update

from errors import MemoryAway, SessionUnknown
from memory.key import Scope
from memory.line import is_same_line, letters_of, says_again, strip_line_turns
from memory.reader import USER
from memory.redis.address import Client
from memory.redis.link import Link
from memory.redis.working_memory import WorkingMemory
from memory.row.profile import carries_over, read_profile, read_profile_rows
from memory.row.rows import (
    Head,
    MemoryRows,
    add_line,
    add_version,
    as_line,
    bump_session_revision,
    change_lines,
    change_source,
    delete_rows,
    match_session,
    read_forgotten,
    read_head,
    read_memory,
    read_sessions,
    select_apart,
)
from memory.state import TEXT_CHARS, Kind, MemoryState, clean_text_line, same_key
from memory.view.listed import list_lines
from memory.writer import MemoryWriter, drop_given, put_user
from settings import Settings
from store import Store
from store.database import memory_table as table
from store.database.engine import purge_write_log
from store.database.insert import insert_into

ORPHAN_SECONDS = 86_400.0
"""Age in seconds from which a memory without a session is erased: the session of a younger one may not be stored
yet."""

EVERY_TURN = 2**31 - 1
"""A number that no turn of a conversation has: all its turns are meant, on whatever branch."""


class MemoryEraser:
    """Forgets and erases in the memories of all sessions. Thread-safe."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        rows: MemoryRows,
        writer: MemoryWriter,
        link: Link,
        working: WorkingMemory,
    ) -> None:
        self._settings, self._store, self._rows = settings, store.everyone, rows
        self._writer, self._link, self._working = writer, link, working

    def forget_lines(
        self, tenant: str, session: str, texts: Sequence[str], *, turn: int, user: str = USER
    ) -> list[str]:
        """Forgets exactly these lines (``PageLine.text``); neither what was said up to now nor earlier versions bring
        them back, here and in the user's other conversations unless this one is kept apart.

        ``turn``: the newest turn. Returns the dropped lines. Raises ``TooLong``.
        """
        bared = dict.fromkeys(strip_line_turns(clean_text_line("statement", text, TEXT_CHARS)) for text in texts)
        requested = [text for text in bared if letters_of(text)]
        scope = Scope(tenant, session)
        with self._rows.writing(scope, user) as connection:
            head = read_head(connection, scope)
            state = read_memory(connection, head)
            carried = carries_over(connection, head, self._settings.user_memory)
            profile = read_profile(connection, head, carried)
            listed = list_lines(state, profile, read_forgotten(connection, head, carried), session)
            dropped = [text for text in requested if any(is_same_line(text, line.text) for line in listed)]
            at = time.time()
            gone = _facts_that_say(connection, head, carried, requested)
            change_lines(connection, [*gone, *_lines_that_say(connection, head, state, requested)], forgotten_at=at)
            if carried:
                self._forget_elsewhere(connection, head, requested, at)
            _write_forgotten(connection, head, requested, turn, at)
            if any(_is_among(row.label, requested) for row in (*state.lines, *state.entities)):
                lines = [row.id for row in state.lines if not _is_among(row.text, requested)]
                entities = [row.id for row in state.entities if not _is_among(row.label, requested)]
                add_version(connection, head, state, lines, entities, origin="forget", created=at)
            drop_given(connection, head)
            self._drop_proposals(connection, head)
            _note_stale(connection, scope)
        self._writer.forget_given()
        self._remove_stale_copies()
        return dropped

    def erase_session(self, tenant: str, session: str, *, goes_on: bool = False, user: str = USER) -> None:
        """Erases a session's memory everywhere.

        ``goes_on``: the conversation stays; none of its turns so far, on any branch, is taken in or found again, and a
        session kept apart stays apart. Else what a deleted session told stays in the profile where its user wants so.
        """
        scope = Scope(tenant, session)
        self._empty_index(session, goes_on)
        with self._rows.writing(scope, user) as connection:
            self._erase(connection, scope, user, goes_on)
        self._writer.forget_given()
        self._remove_stale_copies()
        self._clear_files()

    def erase_user(self, tenant: str, user: str = USER) -> int:
        """Erases all memories of a user, everywhere; returns how many.

        Keeps only the moment and the switches: what was said does not come in again when conversations go on, and
        what is kept apart stays apart.
        """
        count = 0
        with self._rows.transaction() as connection:
            sessions = read_sessions(connection, tenant, user)
        for row in sessions:
            scope = Scope(tenant, row.session)
            goes_on = self._exists(row.session)
            self._empty_index(row.session, goes_on)
            with self._rows.writing(scope, user) as connection:
                state = read_memory(connection, read_head(connection, scope))
                lines = select(func.count()).select_from(table.line).where(*match_session(table.line, scope))
                count += bool(state.short or state.version or connection.execute(lines).scalar())
                change_source(connection, scope, stays=None)
                self._erase(connection, scope, user, goes_on, forgotten=True)
        self._writer.forget_given()
        self._remove_stale_copies()
        self._clear_files()
        return count

    def clean_up(self, tenant: str) -> dict[str, int]:
        """Erases a tenant's memories of sessions that no longer exist, and leftovers in Redis. Returns how many of each
        were found."""
        row = table.source.c
        old = select(row.session, row.user).where(
            row.tenant == tenant, row.updated < time.time() - ORPHAN_SECONDS, row.stays.is_not(True)
        )
        with self._rows.transaction() as connection:
            orphans = [each for each in connection.execute(old) if not self._exists(each.session)]
            leftovers = connection.execute(select(func.count()).select_from(table.stale)).scalar_one()
        for each in orphans:
            self.erase_session(tenant, each.session, user=each.user)
        with suppress(MemoryAway):
            self._link.run(self.remove_stale)
        return {"orphans": len(orphans), "leftovers": leftovers}

    def remove_stale(self, client: Client) -> None:
        """Removes the copies in Redis that could not be removed when their memory was erased."""
        with self._rows.transaction() as connection:
            tags = list(connection.execute(select(table.stale.c.tag)).scalars())
        for tag in tags:
            self._working.remove(client, tag)
            with self._rows.transaction() as connection:
                connection.execute(delete(table.stale).where(table.stale.c.tag == tag))

    # --- internal -------------------------------------------------------------------------------

    def _erase(
        self, connection: Connection, scope: Scope, user: str, goes_on: bool, *, forgotten: bool = False
    ) -> None:
        """Erases the rows of a session. What the user had forgotten in it stays forgotten in the other conversations,
        unless that goes, too (``forgotten``), or the session was kept apart."""
        head, keep = read_head(connection, scope), list[Kind]()
        stays = select(table.source.c.stays).where(*match_session(table.source, scope))
        if not goes_on and connection.execute(stays).scalar():
            keep.append("profile")
        if not (forgotten or head.apart):
            keep.append("forgotten")
        drop_given(connection, head)
        delete_rows(connection, scope, keep)
        put_user(connection, scope.tenant, head.user or user, erased_at=time.time())
        if goes_on:
            bump_session_revision(connection, scope, user)
            now = {"erased_at": time.time(), "rejection": None, "proposal": None, "revision": head.revision + 1}
            change_source(connection, scope, **now, apart=head.apart, skipped=head.skipped)
        _note_stale(connection, scope)

    def _forget_elsewhere(self, connection: Connection, head: Head, texts: Sequence[str], at: float) -> None:
        """Forgets the same lines in the memories of the user's other conversations; their copies in Redis and folds
        under way do not count any more."""
        line = table.line.c
        query = select(table.line).where(
            line.tenant == head.scope.tenant,
            line.user == head.user,
            line.kind.in_(("sentence", "statement", "entity")),
            line.forgotten_at.is_(None),
            line.session != head.scope.session,
            line.session.not_in(select_apart(head)),
        )
        gone = [row for row in map(as_line, connection.execute(query)) if _is_among(row.label, texts)]
        change_lines(connection, [row.id for row in gone], forgotten_at=at)
        for session in {row.session for row in gone}:
            bump_session_revision(connection, Scope(head.scope.tenant, session), head.user)
            _note_stale(connection, Scope(head.scope.tenant, session))

    def _drop_proposals(self, connection: Connection, head: Head) -> None:
        """Drops what folds of the user would write: it may say what is forgotten now. They are made anew."""
        of_user = (table.source.c.tenant == head.scope.tenant, table.source.c.user == head.user)
        waiting = (*of_user, table.source.c.proposal.is_not(None))
        connection.execute(update(table.source).where(*waiting).values(proposal=None))

    def _empty_index(self, session: str, goes_on: bool) -> None:
        with suppress(SessionUnknown):  # the conversation is gone, with its rows
            self._store.turn_index.erase(session, EVERY_TURN if goes_on else 0)

    def _exists(self, session: str) -> bool:
        try:
            self._store.session(session)
        except SessionUnknown:
            return False
        return True

    def _remove_stale_copies(self) -> None:
        """Removes the copies that were noted as stale, now or as soon as Redis can be reached."""
        try:
            self._link.quick(self.remove_stale)
        except MemoryAway:
            self._link.catch_up()

    def _clear_files(self) -> None:
        """Removes deleted rows from the database's files, too."""
        purge_write_log(self._rows.engine)


def _lines_that_say(connection: Connection, head: Head, state: MemoryState, texts: Sequence[str]) -> list[int]:
    """Returns the ids of a session's lines that go: of the memory now those that are exactly one of the texts; of
    earlier versions also those that say one of them in other words."""
    now = {row.id for row in (*state.lines, *state.entities)}
    query = select(table.line).where(
        *match_session(table.line, head.scope),
        table.line.c.kind != "forgotten",
        table.line.c.forgotten_at.is_(None),
    )
    rows = [as_line(row) for row in connection.execute(query)]
    return [
        row.id
        for row in rows
        if _is_among(row.label, texts)
        or (row.kind != "profile" and row.id not in now and any(says_again(text, row.label) for text in texts))
    ]


def _facts_that_say(connection: Connection, head: Head, carried: bool, texts: Sequence[str]) -> list[int]:
    """Returns the ids of the facts and pins that are one of these texts; of a fact with a key also of its older values,
    so that none of them counts as its value now."""
    rows = read_profile_rows(connection, head, carried)
    said = [row for row in rows if _is_among(row.label, texts)]
    keys = {same_key(row.key) for row in said if row.key}
    return [row.id for row in rows if row in said or (row.key and same_key(row.key) in keys)]


def _note_stale(connection: Connection, scope: Scope) -> None:
    """Notes that a session's copy in Redis is to go, with the change of its rows, so that a crash loses nothing."""
    statement = insert_into(connection, table.stale).values(tag=scope.tag)
    connection.execute(statement.on_conflict_do_nothing())


def _write_forgotten(connection: Connection, head: Head, texts: Sequence[str], turn: int, at: float) -> None:
    """Writes what must not come back."""
    for text in texts:
        values = {"kind": "forgotten", "turn": turn, "at": at, "origin": "user"}
        add_line(connection, head, **values, text=text, forgotten_at=at)


def _is_among(line: str, texts: Sequence[str]) -> bool:
    return any(is_same_line(line, text) for text in texts)
