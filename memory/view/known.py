"""Everything that is remembered of a user, of all conversations, and what their turns changed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal, NamedTuple

from sqlalchemy import Connection, delete, func, select, update

from memory.key import Scope
from memory.row.profile import ProfileLine, carries_over, read_profile
from memory.row.rows import (
    Head,
    add_version,
    as_line,
    bump_session_revision,
    change_lines,
    iter_versions,
    match_session,
    read_head,
    read_heads,
    read_lines_of,
    read_memory,
    read_newest_version,
    read_newest_versions,
)
from memory.state import MemoryLine, same_key
from memory.view.proposal import find_proposal
from store.database import memory_table as table
from store.database import schema
from store.path import on_path

MOST_SESSIONS = 200
"""Conversations whose memory is read, the last changed first."""
MOST_FORGOTTEN = 5
_LINE, _TURN = table.line.c, schema.turn.c


class ForgottenTexts(NamedTuple):
    """Texts that the user had forgotten at one moment. ``at``: Unix seconds; ``branch``, ``turn``: of the newest turn
    then."""

    session: str
    branch: int
    turn: int
    at: float
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KnownMemory:
    """``profile``: lasting facts and pins; ``lines``: sentences and entities of the conversations' memories, the last
    changed conversation first; ``forgotten``: what was forgotten last, the newest first."""

    profile: tuple[ProfileLine, ...]
    lines: tuple[MemoryLine, ...]
    forgotten: tuple[ForgottenTexts, ...]


class TurnChange(NamedTuple):
    """What a turn changed in memory: ``remembered`` and ``pinned`` facts, what was ``forgotten`` then, the turns that
    were ``folded`` into the conversation's memory behind it, or are ``proposed`` for it (``memory.view.proposal``).
    ``line``: the fact's row, 0 for others; ``at``: the moment (Unix seconds)."""

    turn: int
    kind: Literal["remembered", "pinned", "forgotten", "folded", "proposed"]
    texts: tuple[str, ...]
    line: int
    at: float


def read_all_known(connection: Connection, tenant: str, user: str) -> KnownMemory:
    """Returns all that is known of a user, also in conversations that are kept apart; not in deleted ones, beside the
    facts that stay when they go."""
    everybody = Head(Scope(tenant, ""), user)
    profile = read_profile(connection, everybody, True)
    lines = list[MemoryLine]()
    heads = read_heads(connection, tenant, user, MOST_SESSIONS)
    for head in heads:
        if head.apart:
            profile += read_profile(connection, head, False)
    versions = read_newest_versions(connection, heads)
    ids = [[*version.lines, *version.entities] for version in versions]
    found = read_lines_of(connection, chain.from_iterable(ids))
    lines += [found[each] for each in chain.from_iterable(ids) if each in found]
    forgotten = read_forgettings(connection, everybody, MOST_FORGOTTEN)
    return KnownMemory(tuple(profile), tuple(lines), tuple(forgotten))


def read_forgettings(connection: Connection, head: Head, most: int) -> list[ForgottenTexts]:
    """Returns what a user had forgotten, the newest first: of a session that the head names, in it alone."""
    query = select(table.line).where(_LINE.tenant == head.scope.tenant, _LINE.user == head.user)
    query = query.where(_LINE.kind == "forgotten").order_by(_LINE.id.desc())
    if head.scope.session:
        query = query.where(_LINE.session == head.scope.session)
    moments = dict[float, list[MemoryLine]]()
    for row in map(as_line, connection.execute(query)):
        moments.setdefault(row.at, []).append(row)
        if len(moments) > most:
            moments.pop(row.at)
            break
    return [
        ForgottenTexts(*(rows[0].session, rows[0].branch, rows[0].turn), at, tuple(row.text for row in reversed(rows)))
        for at, rows in moments.items()
    ]


def _find_turn_of(connection: Connection, head: Head, gone: ForgottenTexts) -> int:
    """Returns the turn of the session's path that something was forgotten in or after; 0 for none. On another path than
    that of the moment it is the newest that had begun."""
    if head.has(gone.branch, gone.turn):
        return gone.turn
    here = (_TURN.session_id == head.scope.session, on_path(_TURN.branch, _TURN.number, head.path))
    return connection.execute(select(func.max(_TURN.number)).where(*here, _TURN.started <= gone.at)).scalar() or 0


def read_turn_changes(
    connection: Connection, head: Head, turns: Collection[int], since: float | None = None
) -> list[TurnChange]:
    """Returns what these turns of a session's path changed, oldest first. ``since``: when the last of them began (Unix
    seconds): what was folded then, or waits for a yes, is the last turn's."""
    query = select(table.line).where(
        *match_session(table.line, head.scope),
        _LINE.kind == "profile",
        _LINE.turn.in_(turns),
        _LINE.forgotten_at.is_(None),
        _LINE.replaced_by.is_(None),
        _LINE.imported.is_(False),
    )
    facts = [row for row in map(as_line, connection.execute(query)) if head.has(row.branch, row.turn)]
    made = [
        TurnChange(row.turn, "pinned" if row.pinned and not row.key else "remembered", (row.label,), row.id, row.at)
        for row in facts
    ]
    made += [
        TurnChange(turn, "forgotten", gone.texts, 0, gone.at)
        for gone in read_forgettings(connection, head, len(turns) + MOST_FORGOTTEN)
        if (turn := _find_turn_of(connection, head, gone)) in turns
    ]
    if since is not None and turns:
        made += _read_fold_changes(connection, head, max(turns), since)
    return sorted(made, key=lambda change: (change.turn, change.at))


def _read_fold_changes(connection: Connection, head: Head, turn: int, since: float) -> list[TurnChange]:
    """Returns the fold that was written since a moment, and the one that waits for the user's yes."""
    found, newest = list[TurnChange](), read_newest_version(connection, head)
    if newest is not None and newest.origin == "fold" and newest.created >= since:
        found.append(TurnChange(turn, "folded", (str(newest.first), str(newest.folded)), 0, newest.created))
    if head.proposal and (proposal := find_proposal(head, read_memory(connection, head))) is not None:
        first, *_, last = (*proposal.turns, proposal.turns[-1])
        found.append(TurnChange(turn, "proposed", (str(first), str(last)), 0, since))
    return found


def take_back_fact(connection: Connection, head: Head, line: int) -> bool:
    """Takes a fact out of the profile as if it had never been said, and puts back the value before it; the row stays,
    out of sight, so that no fold of the same turn writes it again. Returns False where it is gone already."""
    owned = (_LINE.id == line, _LINE.tenant == head.scope.tenant, _LINE.user == head.user, _LINE.kind == "profile")
    row = connection.execute(select(table.line).where(*owned, _LINE.forgotten_at.is_(None))).one_or_none()
    if row is None:
        return False
    if row.pinned and not row.key:
        connection.execute(delete(table.line).where(_LINE.id == line))
    else:
        connection.execute(update(table.line).where(_LINE.replaced_by == line).values(replaced_by=row.replaced_by))
        change_lines(connection, [line], forgotten_at=row.at)
    return True


def is_taken_back(connection: Connection, head: Head, key: str, text: str, turn: int) -> bool:
    """Returns whether the user took back this fact of this turn."""
    same = (_LINE.kind == "profile", _LINE.turn == turn, _LINE.key == key, _LINE.text == text)
    query = select(_LINE.id).where(*match_session(table.line, head.scope), *same, _LINE.forgotten_at.is_not(None))
    return connection.execute(query.limit(1)).first() is not None


def restore_forgotten(connection: Connection, head: Head, at: float, user_memory: bool) -> bool:
    """Brings back everything that the user had forgotten at this moment, in all conversations; returns whether there
    was anything. A memory that was written since takes its lines back in, and a value that was said since stays the
    one that counts. ``user_memory``: the setting."""
    of_it = (_LINE.tenant == head.scope.tenant, _LINE.user == head.user, _LINE.forgotten_at == at)
    rows = [as_line(row) for row in connection.execute(select(table.line).where(*of_it))]
    if not any(row.kind == "forgotten" for row in rows):
        return False
    connection.execute(delete(table.line).where(*of_it, _LINE.kind == "forgotten"))
    connection.execute(update(table.line).where(*of_it).values(forgotten_at=None))
    back = [row for row in rows if row.kind != "forgotten"]
    for session in {row.session for row in rows}:
        bump_session_revision(connection, Scope(head.scope.tenant, session), head.user)
        own = read_head(connection, Scope(head.scope.tenant, session))
        own_back = [row for row in back if row.session == session]
        _replace_older_facts(connection, own, carries_over(connection, own, user_memory), own_back)
        _take_lines_in(connection, own, at, [row.id for row in own_back])
    return True


def _replace_older_facts(connection: Connection, head: Head, carried: bool, back: Sequence[MemoryLine]) -> None:
    """Leaves one current value of each key that came back: the newest, the user's own before what others said."""
    keys = {same_key(row.key) for row in back if row.kind == "profile" and row.key}
    current = [line.row for line in read_profile(connection, head, carried) if line.row.key] if keys else []
    current.sort(key=lambda row: (not row.is_foreign, row.id))
    for key in keys:
        *older, newest = [row.id for row in current if same_key(row.key) == key] or [0]
        change_lines(connection, older, replaced_by=newest)


def _take_lines_in(connection: Connection, head: Head, at: float, ids: Sequence[int]) -> None:
    """Undoes the version of a session that the forgetting made; where others came since, adds one with its lines."""
    versions = [*iter_versions(connection, head)]
    place = next((at_ for at_, version in enumerate(versions) if version.created == at), None)
    if place is None:
        return
    connection.execute(update(table.version).where(table.version.c.id == versions[place].id).values(undone=True))
    if place == 0 or place + 1 == len(versions):
        return
    before, state = versions[place + 1], read_memory(connection, head)
    lines = [each for each in before.lines if each in ids]
    entities = [each for each in before.entities if each in ids]
    if lines or entities:
        now = [row.id for row in state.lines], [row.id for row in state.entities]
        add_version(connection, head, state, [*lines, *now[0]], [*entities, *now[1]], origin="edit")
