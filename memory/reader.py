"""Reading long-term memory: for prompts, the panel, the tools and the search in past turns.

The rows of the database answer; the copy in Redis saves reading them again (``memory.redis.working_memory``). A Redis
that is slow or away costs a turn at most ``Patience`` and changes nothing in what is read.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, select

from errors import MemoryAway
from memory.key import Scope
from memory.redis.link import Link, Patience
from memory.redis.working_memory import WorkingMemory
from memory.row.profile import ProfileLine, carries_over, read_profile
from memory.row.rows import (
    Head,
    MemoryRows,
    as_line,
    iter_versions,
    match_session,
    read_forgotten,
    read_head,
    read_lines_of,
    read_memory,
    read_memory_turns,
    read_other_sessions,
    read_sessions,
    read_stamp,
    read_user_apart,
)
from memory.state import MemoryLine, MemoryState, MemoryTurn, MemoryVersion
from memory.text import render_text
from memory.view import recollect
from memory.view.known import KnownMemory, TurnChange, read_all_known, read_turn_changes
from memory.view.listed import NumberedLine, list_lines
from memory.view.past import MOST_OTHERS, Past
from memory.view.proposal import read_asks_first
from memory.view.recollect import Candidate, search_lines
from memory.view.view import Count, MemoryView, Rooms, make_view
from model.call.token import estimate_tokens
from settings import Settings
from store.database import memory_table as table
from text.language import Language

MOST_EARLIER = 500
"""Most lines of earlier versions that ``find_lines`` looks at, the newest first."""
CURRENT = 1.2
"""How much more a line of the memory as it is now counts in ``find_lines``, beside an earlier one."""
USER = "me"
"""The user's name for doors that know only one user."""


@dataclass(frozen=True)
class MemoryReading:
    """All that a turn reads of memory: the ``view`` for its prompt, and which ``past`` turns it may find. ``is_noted``:
    memory knows already whose session it is."""

    view: MemoryView
    past: Past
    is_noted: bool


class _Shown(NamedTuple):
    """What a view is made of. ``carried``: whether the session sees what the user's others tell."""

    state: MemoryState
    profile: list[ProfileLine]
    forgotten: list[MemoryLine]
    carried: bool


class MemoryReader:
    """Reads the memories of all sessions. Thread-safe."""

    def __init__(self, settings: Settings, rows: MemoryRows, link: Link, working: WorkingMemory) -> None:
        self._settings, self._rows, self._link, self._working = settings, rows, link, working

    def read_view(
        self,
        tenant: str,
        session: str,
        language: str = "ko",
        *,
        user: str = USER,
        count: Count = estimate_tokens,
        rooms: Rooms | None = None,
    ) -> MemoryView:
        """Returns the memory for a prompt: the session's text and entities and the user's profile, within ``rooms``, in
        tokens by ``count``. ``rooms`` None: the budgets of the settings. ``session`` empty: of one that has not begun.
        """
        with self._rows.transaction() as connection:
            shown = self._read_shown(connection, self._head(connection, tenant, session, user))
        return self._make_view(shown, language, count, rooms)

    def read_turn(
        self,
        tenant: str,
        session: str,
        language: str = "ko",
        *,
        user: str = USER,
        count: Count = estimate_tokens,
        rooms: Rooms | None = None,
    ) -> MemoryReading:
        """Returns what ``read_view`` and ``read_past`` return, as of one moment."""
        with self._rows.transaction() as connection:
            head = self._head(connection, tenant, session, user)
            shown = self._read_shown(connection, head)
            past = _read_past_of(connection, head, session, shown.carried, shown.forgotten)
        return MemoryReading(self._make_view(shown, language, count, rooms), past, head.is_noted)

    def fill_copy(self, tenant: str, session: str) -> MemoryState:
        """Writes the copy of a session's memory to Redis, for the next turn to read; nothing while Redis is away.
        Returns the memory."""
        with self._rows.transaction() as connection:
            head = read_head(connection, Scope(tenant, session))
            stamp, state = read_stamp(connection, head), read_memory(connection, head)
        self._write_copy(head.scope, state, stamp, Patience())
        return state

    def read_lines(self, tenant: str, session: str, *, user: str = USER) -> list[NumberedLine]:
        """Returns all that memory holds of this session and its user, as numbered lines to forget: the profile,
        sentences, entities («key: value»), and statements of the last turns."""
        with self._rows.transaction() as connection:
            head = self._head(connection, tenant, session, user)
            state, profile, forgotten = self._read_all(connection, head)
        return list_lines(state, profile, forgotten, session)

    def find_lines(
        self, tenant: str, session: str, query: str, *, user: str = USER, limit: int = 8,
        near: recollect.Near | None = None,
    ) -> list[str]:  # fmt: skip
        """Returns the lines of memory about ``query``, best first, with the turn of those that have left the memory:
        profile, current lines and entities, then lines of earlier versions. ``near``: compares meanings."""
        with self._rows.transaction() as connection:
            head = self._head(connection, tenant, session, user)
            state, profile, _ = self._read_all(connection, head)
            earlier = _read_earlier(connection, head, state)
        current = [Candidate(line.row.label, f" ({line.day})", CURRENT) for line in profile]
        current += [Candidate(row.label, "", CURRENT) for row in (*state.lines, *state.entities)]
        before = [Candidate(row.label, f" (turn {row.turn})" if row.turn else "") for row in earlier]
        return search_lines(query, [*current, *before], limit, near)

    def read_past(self, tenant: str, session: str, *, user: str = USER) -> Past:
        """Returns which past turns a search may find for this session."""
        with self._rows.transaction() as connection:
            head = self._head(connection, tenant, session, user)
            carried = carries_over(connection, head, self._settings.user_memory)
            return _read_past_of(connection, head, session, carried, read_forgotten(connection, head, carried))

    def read_versions(self, tenant: str, session: str) -> list[MemoryVersion]:
        """Returns all versions of the session's memory on its path, oldest first."""
        with self._rows.transaction() as connection:
            head = read_head(connection, Scope(tenant, session))
            found = [*iter_versions(connection, head)][::-1]
            lines = read_lines_of(connection, {each for row in found for each in (*row.lines, *row.entities)})
        made, before = list[MemoryVersion](), list[int]()
        for row in found:
            made.append(_make_version(row, before, lines))
            before = row.entities
        return made

    def read_sources(self, tenant: str, session: str, version: MemoryVersion) -> tuple[MemoryTurn, ...]:
        """Returns the turns that a version took in."""
        if not version.first:
            return ()
        with self._rows.transaction() as connection:
            head = read_head(connection, Scope(tenant, session))
            return read_memory_turns(connection, head, version.first, version.last)

    def read_known(self, tenant: str, user: str = USER) -> KnownMemory:
        """Returns all that is known of a user, of all conversations."""
        with self._rows.transaction() as connection:
            return read_all_known(connection, tenant, user)

    def list_sessions(self, tenant: str, user: str, most: int) -> list[str]:
        """Returns the sessions of a user that have a memory, the last changed first."""
        with self._rows.transaction() as connection:
            return [row.session for row in read_sessions(connection, tenant, user, most)]

    def read_turn_changes(
        self, tenant: str, session: str, turns: Collection[int], *, since: float | None = None, user: str = USER
    ) -> list[TurnChange]:
        """Returns what these turns of the session changed in the user's memory. ``since``: as in
        ``memory.view.known.read_turn_changes``."""
        with self._rows.transaction() as connection:
            return read_turn_changes(connection, self._head(connection, tenant, session, user), turns, since)

    def read_known_lines(self, tenant: str, session: str, *, user: str = USER) -> list[MemoryLine]:
        """Returns the lines of the session's memory and of the profile that it sees: sentences, entities, facts."""
        with self._rows.transaction() as connection:
            head = self._head(connection, tenant, session, user)
            carried = carries_over(connection, head, self._settings.user_memory)
            state, profile = read_memory(connection, head), read_profile(connection, head, carried)
        return [*state.lines, *state.entities, *(line.row for line in profile)]

    def read_given(self, tenant: str, session: str, marks: Collection[str] | None = None) -> dict[str, str]:
        """Returns the texts that prompts got of this memory, by mark: all, or those of ``marks``."""
        query = select(table.given.c.mark, table.given.c.text).where(table.given.c.scope == Scope(tenant, session).tag)
        if marks is not None:
            query = query.where(table.given.c.mark.in_(marks))
        with self._rows.transaction() as connection:
            return {row.mark: row.text for row in connection.execute(query)}

    def carries(self, tenant: str, user: str = USER) -> bool:
        """Tells whether the user's conversations share what lasts, and find what was said in each other."""
        if not self._settings.user_memory:
            return False
        with self._rows.transaction() as connection:
            return not read_user_apart(connection, tenant, user)

    def asks_first(self, tenant: str, user: str = USER) -> bool:
        """Tells whether a fold waits for the user's yes before it counts."""
        with self._rows.transaction() as connection:
            return read_asks_first(connection, tenant, user)

    def is_apart(self, tenant: str, session: str) -> bool:
        """Tells whether a session is kept apart."""
        with self._rows.transaction() as connection:
            return read_head(connection, Scope(tenant, session)).apart

    def forgets(self, tenant: str, session: str) -> bool | None:
        """Returns whether what this deleted session told leaves the profile; None when nobody was asked."""
        query = select(table.source.c.stays).where(*match_session(table.source, Scope(tenant, session)))
        with self._rows.transaction() as connection:
            stays = connection.execute(query).scalar_one_or_none()
        return None if stays is None else not stays

    def read_ttl(self, tenant: str, session: str) -> float | None:
        """Returns the seconds until the copy in Redis expires unused; None when it never does or there is none.

        Raises ``MemoryAway``.
        """
        return self._link.quick(lambda client: self._working.read_ttl(client, Scope(tenant, session)))

    # --- internal -------------------------------------------------------------------------------

    def _head(self, connection: Connection, tenant: str, session: str, user: str) -> Head:
        """Returns what memory knows of a session; of one that has not begun, that it is this user's."""
        if not session:
            return Head(Scope(tenant, ""), user)
        head = read_head(connection, Scope(tenant, session))
        if not head.user:
            return Head(head.scope, user)
        # whoever asks for a session of somebody else is shown nothing that its owner's conversations share
        return head if head.user == user else replace(head, apart=True)

    def _state(self, connection: Connection, head: Head) -> MemoryState:
        """Returns the memory of a session from its copy in Redis where that is current, else from the rows."""
        if not head.scope.session:
            return MemoryState()
        stamp, patience = read_stamp(connection, head), Patience()
        try:
            state = self._link.quick(lambda client: self._working.read(client, head.scope, stamp), patience)
        except MemoryAway:
            return read_memory(connection, head)
        if state is None:
            state = read_memory(connection, head)
            self._write_copy(head.scope, state, stamp, patience)
        return state

    def _write_copy(self, scope: Scope, state: MemoryState, stamp: str, patience: Patience) -> None:
        with suppress(MemoryAway):
            self._link.quick(lambda client: self._working.write(client, scope, state, stamp), patience)

    def _read_shown(self, connection: Connection, head: Head) -> _Shown:
        carried = carries_over(connection, head, self._settings.user_memory)
        forgotten = read_forgotten(connection, head, carried)
        return _Shown(self._state(connection, head), read_profile(connection, head, carried), forgotten, carried)

    def _make_view(self, shown: _Shown, language: str, count: Count, rooms: Rooms | None) -> MemoryView:
        limits = self._settings
        within = rooms or Rooms(limits.budget_memory, limits.budget_entities, limits.budget_profile)
        spoken: Language = "ko" if language == "ko" else "en"
        hidden = turns_of_forgotten(shown.forgotten, shown.state.short)
        return make_view(shown.state, shown.profile, hidden, count, within, limits.memory_ttl * 3600, spoken)

    def _read_all(self, connection: Connection, head: Head) -> tuple[MemoryState, list[ProfileLine], list[MemoryLine]]:
        carried = carries_over(connection, head, self._settings.user_memory)
        profile = read_profile(connection, head, carried)
        return read_memory(connection, head), profile, read_forgotten(connection, head, carried)


def _read_past_of(
    connection: Connection, head: Head, session: str, carried: bool, forgotten: Sequence[MemoryLine]
) -> Past:
    others = read_other_sessions(connection, head, session, MOST_OTHERS) if carried else ()
    return Past(session, tuple(others), forgotten)


def turns_of_forgotten(forgotten: Sequence[MemoryLine], turns: Sequence[MemoryTurn]) -> list[tuple[str, int]]:
    """Returns forgotten texts, each with the newest of these turns that was said before; 0 for none."""
    return [(each.text, max((turn.number for turn in turns if turn.at <= each.at), default=0)) for each in forgotten]


def _read_earlier(connection: Connection, head: Head, state: MemoryState) -> list[MemoryLine]:
    """Returns the lines that the memory once held and holds no more, the newest first."""
    line, now = table.line.c, {row.id for row in (*state.lines, *state.entities)}
    query = select(table.line).where(
        *match_session(table.line, head.scope),
        line.kind.in_(("sentence", "statement", "entity")),
        line.forgotten_at.is_(None),
    )
    rows = connection.execute(query.order_by(line.id.desc()).limit(MOST_EARLIER)).all()
    return [as_line(row) for row in rows if row.id not in now and head.has(row.branch, row.turn)]


def _make_version(row: Row[Any], before: Sequence[int], lines: dict[int, MemoryLine]) -> MemoryVersion:
    def entities(ids: Sequence[int]) -> Any:
        return tuple(lines[each].entity for each in ids if each in lines)

    text = render_text([lines[each] for each in row.lines if each in lines], row.language)
    record = row.record
    return MemoryVersion(
        number=row.number,
        text=text,
        origin=row.origin,
        created=row.created,
        first=row.first,
        last=row.folded if row.first else 0,
        before=entities(before),
        after=entities(row.entities),
        kept=tuple(record.get("kept", ())),
        lost=tuple(record.get("lost", ())),
        cost=record.get("cost", {}),
    )
