"""The profile of a user: lasting facts and pins of all conversations, each with its day and the turn it comes from.

It is what a new conversation begins with. A fact has a key, and a newer value stands in place of the older one, which
is still named once. A pin is a statement that the user wants kept word for word.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, bindparam, or_, select

from memory.row.rows import Head, add_line, as_line, change_lines, is_on_path, match_session, read_user_apart
from memory.state import MemoryLine, MemoryTurn, same_key
from store.database import memory_table as table
from store.database import schema
from store.path import Path, parse_path
from text.language import Language

MOST_READ = 300
"""Most rows of a profile that are looked at: pins first, then the newest."""
_LINE, _SOURCE, _SESSION = table.line.c, table.source.c, schema.session.c
_JOINED = table.line.join(
    table.source, (_SOURCE.tenant == _LINE.tenant) & (_SOURCE.session == _LINE.session)
).outerjoin(schema.session, _SESSION.id == _LINE.session)
_LINES = (
    select(table.line, _SESSION.path)
    .select_from(_JOINED)
    .where(
        *(_LINE.tenant == bindparam("of_tenant"), _LINE.user == bindparam("of_user")),
        *(_LINE.kind == "profile", _LINE.forgotten_at.is_(None)),
    )
    .order_by(_LINE.pinned.desc(), _LINE.id.desc())
    .limit(MOST_READ)
)
_OWN = _LINE.session == bindparam("of_session")
# what a deleted conversation told stays only where the user wants it so
_THERE = or_(_SESSION.id.is_not(None) & _SESSION.deleted.is_(None), _SOURCE.stays.is_(True))
_OWN_LINES = _LINES.where(_OWN)
_CARRIED_LINES = _LINES.where(or_(_OWN, _SOURCE.apart.is_(False) & _THERE))


@dataclass(frozen=True, slots=True)
class ProfileLine:
    """A line of the profile. ``replaced``: the value before this one, if there was one."""

    row: MemoryLine
    replaced: MemoryLine | None = None

    @property
    def day(self) -> str:
        """Returns the day on which it was said, in ISO form."""
        return day_of(self.row.at)

    def describe(self, language: Language) -> str:
        """Returns the fact as it is now, with the value before it: «rent: 850,000 (800,000 until 2026-03-02)»."""
        if self.replaced is None:
            return self.row.label
        before = (
            f"{self.day}까지 {self.replaced.text}" if language == "ko" else f"{self.replaced.text} until {self.day}"
        )
        return f"{self.row.label} ({before})"


def day_of(at: float) -> str:
    """Returns a moment's day on this machine, in ISO form."""
    return datetime.fromtimestamp(at).date().isoformat()


def carries_over(connection: Connection, head: Head, user_memory: bool) -> bool:
    """Tells whether a session shares its profile with the user's other sessions. ``user_memory``: the setting."""
    if not user_memory or head.apart:
        return False
    known = head.user_apart
    return not (read_user_apart(connection, head.scope.tenant, head.user) if known is None else known)


def read_profile(connection: Connection, head: Head, carried: bool) -> list[ProfileLine]:
    """Returns the profile as a session sees it, pins first, then the newest: its own lines and, with ``carried``, those
    of the user's other conversations, except of those that are kept apart or deleted."""
    rows = read_profile_rows(connection, head, carried)
    by_id = {row.id: row for row in rows}
    before = {row.replaced_by: row for row in sorted(rows, key=lambda row: row.id) if row.replaced_by in by_id}
    now = [row for row in rows if row.replaced_by not in by_id]
    later = _LaterValues(now)
    for row in now:  # the row that took its place lies on another branch; this branch has one that says it, too
        if (newer := later.find(row)) is not None:
            before.setdefault(newer.id, row)
            by_id[row.id] = newer
    return [ProfileLine(row, before.get(row.id)) for row in now if by_id[row.id] is row]


class _LaterValues:
    """The lines of a profile by conversation and key, to find one of a later turn. ``rows``: as the profile has them;
    of several later lines the first one counts."""

    def __init__(self, rows: Sequence[MemoryLine]) -> None:
        self._keys = {row.id: (row.session, same_key(row.key)) for row in rows if row.key}
        self._all = self._group(rows)
        self._own = self._group([row for row in rows if not row.is_foreign])

    def _group(self, rows: Sequence[MemoryLine]) -> dict[tuple[str, str], list[MemoryLine]]:
        """Returns the lines that one of an earlier turn may lead to: each is of a later turn than those before it."""
        found: dict[tuple[str, str], list[MemoryLine]] = {}
        for row in rows:
            if row.key and (not (known := found.setdefault(self._keys[row.id], [])) or known[-1].turn < row.turn):
                known.append(row)
        return found

    def find(self, row: MemoryLine) -> MemoryLine | None:
        """Returns the line of a later turn of the same conversation that has a value for the same key. What others say
        comes after no line that the user told."""
        known = (self._all if row.is_foreign else self._own).get(self._keys[row.id], []) if row.key else []
        at = bisect_right(known, row.turn, key=lambda other: other.turn)
        return known[at] if at < len(known) else None


def write_fact(connection: Connection, head: Head, known: Sequence[ProfileLine], fact: MemoryLine) -> bool:
    """Writes a fact in place of those with the same key (``same_key``); returns whether the profile holds its value
    then. What others say never takes the place of what the user told; what the user says takes the place of the same
    from others. ``fact``: without an id."""
    older = [line.row for line in known if line.row.key and same_key(line.row.key) == same_key(fact.key)]
    if any(row.text == fact.text and (fact.is_foreign or not row.is_foreign) for row in older):
        return True
    if fact.is_foreign and not all(row.is_foreign for row in older):
        return False
    values = {name: getattr(fact, name) for name in ("branch", "turn", "at", "origin", "key", "text", "pinned")}
    made = add_line(connection, head, kind="profile", **values)
    change_lines(connection, [row.id for row in older], replaced_by=made)
    return True


def make_fact(head: Head, key: str, value: str, turn: MemoryTurn, *, pinned: bool = False) -> MemoryLine:
    """Returns a line that the user said in a turn; in a turn out of a file, anybody may have said it."""
    branch, origin = head.branch_of(turn.number), turn.asker
    return MemoryLine(0, head.scope.session, "profile", branch, turn.number, turn.at, origin, key, value, pinned)


def copy_facts_earlier(connection: Connection, head: Head, path: Path, number: int) -> None:
    """Lets the facts that the turns of ``path`` after turn ``number`` told stay in the profile, where a branch leaves
    that turn out and these stand one place earlier. ``head``: of the session on that branch."""
    query = select(table.line).where(*match_session(table.line, head.scope), table.line.c.kind == "profile")
    later = [
        row
        for row in connection.execute(query.where(table.line.c.turn > number).order_by(table.line.c.id)).all()
        if is_on_path(path, row.branch, row.turn)
    ]
    copies = dict[int, int]()
    for row in later:
        values = {name: value for name, value in row._mapping.items() if name != "id"}
        copies[row.id] = add_line(
            connection, head, **values | {"turn": row.turn - 1, "branch": head.branch_of(row.turn - 1)}
        )
    for row in later:
        if row.replaced_by in copies:
            change_lines(connection, [copies[row.id]], replaced_by=copies[row.replaced_by])


def read_profile_rows(connection: Connection, head: Head, carried: bool) -> list[MemoryLine]:
    """Returns the rows of the profile that count for a session, also those that a newer value has replaced."""
    values = {"of_tenant": head.scope.tenant, "of_session": head.scope.session, "of_user": head.user}
    rows = connection.execute(_CARRIED_LINES if carried else _OWN_LINES, values).all()
    return [as_line(row) for row in rows if row.path is None or is_on_path(parse_path(row.path), row.branch, row.turn)]
