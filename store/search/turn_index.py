"""What a search in past turns reads of every turn: a vector and its words (``retrieval.past`` packs both).

A row belongs to a finished turn, on whatever branch. It is made after the answer, made again when other rules are in
use, and goes with its turn. An erased turn keeps an empty row, so that it is not taken in again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    String,
    Table,
    and_,
    bindparam,
    case,
    delete,
    func,
    insert,
    literal,
    or_,
    select,
    tuple_,
    type_coerce,
    update,
)

from store.database import schema
from store.database.insert import insert_into
from store.database.schema import ExactName
from store.owner import EVERYONE, build_owner_condition, can_access_row, check_session, in_mine
from store.path import Path, parse_path
from store.search.turn_index_change import record_change, record_owned_change
from store.turn.foreign import HAS_FOREIGN
from text.fence import has_frame, remove_frames

ERASED = ""
"""Stands in place of the rules' name in the empty row of an erased turn."""
SESSIONS_AT_ONCE = 500
"""Sessions in one statement; SQLite takes 32,766 parameters."""
AT_ONCE = 100
"""Rows that one transaction writes."""
MOST = 10_000
"""The most turns without a row that are looked at, whether they are finished or failed."""
FINISHED = ("done", "stopped")
"""The states of a turn that has an answer."""
_TURN, _ROW, _SESSION = schema.turn, schema.turn_index, schema.session
_REVISION, _CHANGE = schema.turn_index_revision, schema.turn_index_change
_TEXTS = select(
    _TURN.c.session_id,
    _TURN.c.branch,
    _TURN.c.number,
    _TURN.c.started,
    _TURN.c.question,
    _TURN.c.answer,
    _TURN.c.unused,
    _SESSION.c.title,
    HAS_FOREIGN,
).join_from(_TURN, _SESSION, _SESSION.c.id == _TURN.c.session_id)
_NAMES = ("session_id", "branch", "number")
_ROWS = select(
    # as it is stored, because reading the exact text takes longer than all the rest of a row
    type_coerce(_ROW.c.session_id, String),
    _ROW.c.branch,
    _ROW.c.number,
    _ROW.c.vector,
    _ROW.c.words,
)
_CHANGES = select(
    _REVISION.c.owner,
    _REVISION.c.revision,
    _REVISION.c.removed,
    _CHANGE.c.session_id,
    _CHANGE.c.rebuilt,
    _SESSION.c.path,
    _SESSION.c.deleted,
).select_from(
    _REVISION.outerjoin(
        _CHANGE.join(_SESSION, _SESSION.c.id == _CHANGE.c.session_id),
        and_(_CHANGE.c.owner == _REVISION.c.owner, _CHANGE.c.revision > bindparam("since")),
    )
)
"""The revision of every owner, with what changed since; without a change the revision alone."""
_LOCKED = (
    select(_SESSION.c.id, _SESSION.c.owner, _SESSION.c.api_key)
    .where(_SESSION.c.id.in_(bindparam("sessions", expanding=True)))
    .order_by(_SESSION.c.id)
    .with_for_update()
)
"""Locks sessions, in one order for everybody; whoever deletes a conversation locks its row first, too."""


@dataclass(frozen=True, slots=True)
class TurnKey:
    """The place of a turn in the record."""

    session_id: str
    branch: int
    number: int


@dataclass(frozen=True, slots=True)
class PastTurn:
    """What was said in a finished turn. ``at``: when the user sent the question (Unix seconds). ``foreign``: its
    prompt held text of others (``store.turn.foreign``), so its answer may, too. ``unused``: the user wants no prompt to
    show it. ``title``: of its conversation."""

    key: TurnKey
    at: float
    question: str
    answer: str
    foreign: bool = False
    unused: bool = False
    title: str = field(default="", compare=False)


class NewRow(NamedTuple):
    """What is written of a turn: its ``vector``, empty where it is made later, and its ``words``."""

    turn: PastTurn
    vector: bytes
    words: bytes


class IndexedTurn(NamedTuple):
    """The row of one turn: its place, and its vector and words as bytes. A tuple, because a search reads thousands."""

    session_id: str
    branch: int
    number: int
    vector: bytes
    words: bytes

    @property
    def key(self) -> TurnKey:
        return TurnKey(self.session_id, self.branch, self.number)


@dataclass(frozen=True, slots=True)
class Revision:
    """How far somebody has read a user's rows. ``removed``: the revision that last removed a session."""

    number: int = -1
    removed: int = -1


@dataclass(frozen=True, slots=True)
class ChangedSession:
    """A session whose rows or path changed. ``pieces``: the numbers of the turns that its path takes from each branch;
    none where it is put away. ``is_rebuilt``: ``rows`` are all of its rows, not only the new ones."""

    session_id: str
    pieces: dict[int, range]
    is_rebuilt: bool
    rows: list[IndexedTurn]


@dataclass(frozen=True, slots=True)
class IndexChanges:
    """What changed since a revision. ``remaining``: all sessions that still have rows, None where none was removed."""

    revision: Revision
    sessions: list[ChangedSession]
    remaining: frozenset[str] | None


class TurnIndex:
    """The rows of a user's turns; ``transaction`` opens a database transaction. Sessions that are not the user's have
    no turns here.

    ``database``, ``user``: whose rows these are, for those who hold a copy of them.
    """

    def __init__(
        self, transaction: Callable[[], AbstractContextManager[Connection]], database: Engine, user: str | None
    ) -> None:
        self._transaction = transaction
        self.database = database
        self.user = user

    def missing(
        self, sessions: Collection[str], made_by: str, limit: int, last: int | None = None, *, vectors: bool = True
    ) -> list[PastTurn]:
        """Returns finished turns of these sessions that have no row by these rules, the newest first.

        ``last``: only turns up to this number. ``vectors``: also turns whose row has no vector yet.
        """
        each = _TURN.alias("each")
        same = [_ROW.c[name] == each.c[name] for name in _NAMES]
        enough = _ROW.c.made_by == made_by
        if vectors:
            enough = and_(enough, func.length(_ROW.c.vector) > 0)
        known = select(literal(1)).where(*same, or_(enough, _ROW.c.made_by == ERASED))
        # indexes alone answer the inner query: rows of turns are large
        without = select(each.c.id).where(each.c.session_id.in_(sessions), ~known.exists())
        if last is not None:
            without = without.where(each.c.number <= last)
        with self._transaction() as connection:
            without = without.where(in_mine(connection, each.c.session_id)).order_by(each.c.id.desc()).limit(MOST)
            query = _TEXTS.where(_TURN.c.id.in_(without), _TURN.c.status.in_(FINISHED))
            return [_build_past_turn(row) for row in connection.execute(query.order_by(_TURN.c.id.desc()).limit(limit))]

    def put(self, rows: Sequence[NewRow], made_by: str) -> int:
        """Writes the rows of turns, and returns how many: none for a turn that is gone, was erased, or says something
        else by now. At most ``AT_ONCE``, in one transaction."""
        by_session: dict[str, dict[TurnKey, NewRow]] = {}
        for row in rows:
            by_session.setdefault(row.turn.key.session_id, {})[row.turn.key] = row
        with self._transaction() as connection:
            # all sessions before the first revision, which a transaction may wait for that holds one of them
            sessions = connection.execute(_LOCKED, {"sessions": sorted(by_session)}).all()
            own = [row for row in sessions if can_access_row(connection, row)]
            return sum(_put_session(connection, row.id, row.owner, by_session[row.id], made_by) for row in own)

    def read_changes(self, made_by: str, known: Revision) -> IndexChanges:
        """Returns what changed of the user's rows by these rules since ``known``; everything for ``Revision()``.

        Nothing new costs one statement, which reads one row.
        """
        since = known.number if self.user is not EVERYONE else -1
        with self._transaction() as connection:
            found = connection.execute(
                _CHANGES.where(build_owner_condition(connection, _REVISION.c.owner)), {"since": since}
            ).all()
            revisions = {row.owner: (row.revision, row.removed) for row in found}
            # of everyone's store the sum: it rises whenever one of them rises
            now = Revision(*map(sum, zip(*revisions.values(), strict=True))) if revisions else Revision(0, 0)
            if now == known:
                return IndexChanges(known, [], None)
            changed = [row for row in found if row.session_id is not None]
            rebuilt = [row.session_id for row in changed if row.rebuilt > since]
            grown = [row.session_id for row in changed if row.rebuilt <= since]
            rows = [*self._rows(connection, made_by, rebuilt, -1), *self._rows(connection, made_by, grown, since)]
            remaining = None
            if now.removed != known.removed:
                every = select(_CHANGE.c.session_id).where(build_owner_condition(connection, _CHANGE.c.owner))
                remaining = frozenset(connection.execute(every).scalars())
        by_session: dict[str, list[IndexedTurn]] = {}
        for row in rows:
            by_session.setdefault(row.session_id, []).append(row)
        sessions = [
            ChangedSession(
                row.session_id,
                {} if row.deleted is not None else _split_path_ranges(parse_path(row.path)),
                row.rebuilt > since,
                by_session.get(row.session_id, []),
            )
            for row in changed
        ]
        return IndexChanges(now, sessions, remaining)

    def _rows(self, connection: Connection, made_by: str, sessions: list[str], since: int) -> Iterator[IndexedTurn]:
        """Yields the rows of these sessions after a revision, some hundred sessions to a statement."""
        for first in range(0, len(sessions), SESSIONS_AT_ONCE):
            some = sessions[first : first + SESSIONS_AT_ONCE]
            # the ids as they are stored; a query of all rows is ordered by its key
            names = {str(ExactName().process_bind_param(id_, connection.dialect)): id_ for id_ in some}
            query = _ROWS.where(_ROW.c.session_id.in_(some), _ROW.c.made_by == made_by)
            if since >= 0:
                query = query.where(_ROW.c.revision > since)
            for stored, branch, number, vector, words in connection.execute(query):
                yield IndexedTurn(names[stored], branch, number, vector, words)

    def text(self, key: TurnKey) -> PastTurn | None:
        """Returns what was said in a turn (``find_texts``); None when it is gone."""
        return self.find_texts({key}).get(key)

    def find_texts(self, keys: Collection[TurnKey]) -> dict[TurnKey, PastTurn]:
        """Returns what was said in these turns, those that are still there. Of a branch that the conversation does not
        have, it is the turn of branch 0: a copy of a conversation has all its turns there."""
        trunks = {key: replace(key, branch=0) for key in keys}
        found = self.texts({*keys, *trunks.values()})
        elsewhere = [key for key in keys if key not in found and trunks[key] in found]
        branches = self._find_branches(elsewhere) if elsewhere else set()
        of_trunk = [key for key in elsewhere if (key.session_id, key.branch) not in branches]
        return {key: found[key] for key in keys if key in found} | {key: found[trunks[key]] for key in of_trunk}

    def _find_branches(self, keys: Collection[TurnKey]) -> set[tuple[str, int]]:
        """Returns those of the branches of these turns that their conversations have."""
        branch = schema.branch.c
        places = [(key.session_id, key.branch) for key in keys]
        with self._transaction() as connection:
            query = select(branch.session_id, branch.id).where(tuple_(branch.session_id, branch.id).in_(places))
            return {(row.session_id, row.id) for row in connection.execute(query)}

    def texts(self, keys: Collection[TurnKey]) -> dict[TurnKey, PastTurn]:
        """Returns what was said in these turns, those that are still there."""
        place = tuple_(_TURN.c.session_id, _TURN.c.branch, _TURN.c.number)
        with self._transaction() as connection:
            places = [(key.session_id, key.branch, key.number) for key in keys]
            found = _TEXTS.where(place.in_(places), in_mine(connection, _TURN.c.session_id))
            return {turn.key: turn for turn in map(_build_past_turn, connection.execute(found))}

    def set_unused(self, key: TurnKey, unused: bool) -> None:
        """Notes whether prompts may show a turn; nothing for a turn that is not the user's."""
        with self._transaction() as connection:
            own = in_mine(connection, _TURN.c.session_id)
            connection.execute(update(_TURN).where(_build_key_condition(_TURN, key), own).values(unused=unused))

    def erase(self, session_id: str, last: int) -> None:
        """Empties the rows of the turns up to ``last`` for good, because their memory was erased. Raises
        ``SessionUnknown``.
        """
        names = ["session_id", "branch", "number", "made_by", "vector", "words"]
        empty = select(_TURN.c.session_id, _TURN.c.branch, _TURN.c.number, literal(ERASED), literal(b""), literal(b""))
        with self._transaction() as connection:
            check_session(connection, session_id)
            connection.execute(delete(_ROW).where(_ROW.c.session_id == session_id, _ROW.c.number <= last))
            turns = empty.where(_TURN.c.session_id == session_id, _TURN.c.number <= last)
            connection.execute(insert(_ROW).from_select(names, turns))
            record_change(connection, session_id, rebuilt=True)


def _put_session(connection: Connection, session_id: str, owner: str, rows: dict[TurnKey, NewRow], made_by: str) -> int:
    """Writes rows of one session, whose row is locked."""
    places = [(key.branch, key.number) for key in rows]
    same = and_(*(_ROW.c[name] == _TURN.c[name] for name in _NAMES))
    has_row = select(literal(1)).where(same).exists().label("has_row")
    found = _TEXTS.add_columns(has_row).where(
        _TURN.c.session_id == session_id,
        tuple_(_TURN.c.branch, _TURN.c.number).in_(places),
        _TURN.c.status.in_(FINISHED),
        ~select(literal(1)).where(same, _ROW.c.made_by == ERASED).exists(),
    )
    looked_up = [(_build_past_turn(row), bool(row.has_row)) for row in connection.execute(found)]
    current = {turn.key: turn for turn, _ in looked_up}
    unchanged = [row for key, row in rows.items() if current.get(key) == row.turn]
    if not unchanged:
        return 0
    made_before = {turn.key for turn, has_row in looked_up if has_row}
    replaced = [(key.branch, key.number) for key in (row.turn.key for row in unchanged) if key in made_before]
    if replaced:
        at_row = tuple_(_ROW.c.branch, _ROW.c.number).in_(replaced)
        connection.execute(delete(_ROW).where(_ROW.c.session_id == session_id, at_row))
    revision = record_owned_change(connection, session_id, owner, rebuilt=False)
    made = {"made_by": made_by, "revision": revision}
    new_rows = [
        {**_build_key_values(row.turn.key), "vector": row.vector, "words": row.words, **made} for row in unchanged
    ]
    connection.execute(_insert_rows(connection), new_rows)
    return len(unchanged)


def _insert_rows(connection: Connection) -> Any:
    """Returns the statement that writes rows. A search and the work behind an answer may both have found a turn without
    a row: whoever comes second writes over the first, and takes no vector away."""
    statement = insert_into(connection, _ROW)
    new = statement.excluded
    vector = case((func.length(new.vector) > 0, new.vector), else_=_ROW.c.vector)
    values = {"vector": vector, "words": new.words, "revision": new.revision}
    return statement.on_conflict_do_update(index_elements=[*_NAMES, "made_by"], set_=values)


def delete_outdated_row(connection: Connection, session_id: str, branch: int, number: int) -> None:
    """Deletes the row of a turn that is answered once more."""
    row = and_(_build_key_condition(_ROW, TurnKey(session_id, branch, number)), _ROW.c.made_by != ERASED)
    if connection.execute(delete(_ROW).where(row)).rowcount:
        record_change(connection, session_id, rebuilt=True)


def _split_path_ranges(path: Path) -> dict[int, range]:
    """Returns the numbers of the turns that a path takes from each of its branches."""
    ends = [first for _, first in path[1:]] + [sys.maxsize]
    return {branch: range(first, end) for (branch, first), end in zip(path, ends, strict=True)}


def _build_key_condition(table: Table, key: TurnKey) -> ColumnElement[bool]:
    return and_(*(table.c[name] == value for name, value in _build_key_values(key).items()))


def _build_key_values(key: TurnKey) -> dict[str, Any]:
    return {"session_id": key.session_id, "branch": key.branch, "number": key.number}


def _build_past_turn(row: Any) -> PastTurn:
    key = TurnKey(row.session_id, row.branch, row.number)
    foreign = row.has_foreign or has_frame(row.question)
    return PastTurn(key, row.started, remove_frames(row.question), row.answer or "", foreign, row.unused, row.title)
