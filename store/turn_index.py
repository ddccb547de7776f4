"""What a search in past turns reads of every turn: a vector and its words (``retrieval.turns`` packs both).

A row belongs to a finished turn, on whatever branch. It is made after the answer, made again when other rules are in
use, and goes with its turn. An erased turn keeps an empty row, so that it is not taken in again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    String,
    Table,
    Text,
    and_,
    bindparam,
    delete,
    insert,
    literal,
    select,
    type_coerce,
)

from store.database import schema
from store.owner import check_session, in_mine, may, mine
from store.path import Path, plain
from text.fence import has_frame

ERASED = ""
"""Stands in place of the rules' name in the empty row of an erased turn."""
MOST = 10_000
"""The most turns without a row that are looked at, whether they are finished or failed."""
_FINISHED = ("done", "stopped")
_TURN, _ROW, _SESSION = schema.turn, schema.turn_index, schema.session
_FOREIGN = type_coerce(_TURN.c.steps, Text).like('%"foreign":true%').label("foreign")
"""Whether a foreign tool ran in the turn; a text of a step that looks like the mark counts, too, which is safe."""
_TEXTS = select(
    _TURN.c.session_id,
    _TURN.c.branch,
    _TURN.c.number,
    _TURN.c.started,
    _TURN.c.question,
    _TURN.c.answer,
    _FOREIGN,
)
_TEXT = (
    _TEXTS.add_columns(_SESSION.c.owner)
    .join(_SESSION, _SESSION.c.id == _TURN.c.session_id)
    .where(
        _TURN.c.session_id == bindparam("in_session"),
        _TURN.c.branch == bindparam("in_branch"),
        _TURN.c.number == bindparam("turn"),
    )
)
_STORED = type_coerce(_SESSION.c.id, String).label("stored")
_ROWS = select(
    # as it is stored, because reading the exact text takes longer than all the rest of a row
    type_coerce(_ROW.c.session_id, String),
    _ROW.c.branch,
    _ROW.c.number,
    _ROW.c.vector,
    _ROW.c.words,
)


@dataclass(frozen=True, slots=True)
class TurnKey:
    """The place of a turn in the record."""

    session_id: str
    branch: int
    number: int


@dataclass(frozen=True, slots=True)
class PastTurn:
    """What was said in a finished turn. ``at``: when the user sent the question (Unix seconds). ``foreign``: a foreign
    tool ran in it, or a client sent foreign text along, so its answer may hold foreign text."""

    key: TurnKey
    at: float
    question: str
    answer: str
    foreign: bool = False


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


class TurnIndex:
    """The rows of a user's turns; ``transaction`` opens a database transaction. Sessions that are not the user's have
    no turns here.
    """

    def __init__(self, transaction: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._transaction = transaction

    def missing(self, sessions: Collection[str], made_by: str, limit: int, last: int | None = None) -> list[PastTurn]:
        """Returns finished turns of these sessions that have no row by these rules, the newest first.

        ``last``: only turns up to this number.
        """
        same = [_ROW.c[name] == _TURN.c[name] for name in ("session_id", "branch", "number")]
        known = select(literal(1)).where(*same, _ROW.c.made_by.in_((made_by, ERASED)))
        # indexes alone answer this query: rows of turns are large
        without = select(_TURN.c.id).where(_TURN.c.session_id.in_(sessions), ~known.exists())
        if last is not None:
            without = without.where(_TURN.c.number <= last)
        with self._transaction() as connection:
            without = without.where(in_mine(connection, _TURN.c.session_id))
            ids = list(connection.execute(without.order_by(_TURN.c.id.desc()).limit(MOST)).scalars())
            query = _TEXTS.where(_TURN.c.id.in_(ids), _TURN.c.status.in_(_FINISHED))
            return [_past(row) for row in connection.execute(query.order_by(_TURN.c.id.desc()).limit(limit))]

    def put(self, turn: PastTurn, made_by: str, vector: bytes, words: bytes) -> bool:
        """Writes the row of a turn. Returns False and writes nothing when the turn is gone, was erased, or says
        something else by now."""
        with self._transaction() as connection:
            # whoever deletes a conversation locks this row first
            locked = select(_SESSION.c.owner).where(_SESSION.c.id == turn.key.session_id).with_for_update()
            if not may(connection, connection.execute(locked).scalar_one_or_none()):
                return False
            current = connection.execute(_TEXTS.where(_is(_TURN, turn.key), _TURN.c.status.in_(_FINISHED))).first()
            if current is None or _past(current) != turn:
                return False
            connection.execute(delete(_ROW).where(_is(_ROW, turn.key), _ROW.c.made_by != ERASED))
            if connection.execute(select(_ROW.c.number).where(_is(_ROW, turn.key))).first():
                return False
            content = {"made_by": made_by, "vector": vector, "words": words}
            connection.execute(insert(_ROW), {**_names(turn.key), **content})
        return True

    def rows(self, sessions: Collection[str], made_by: str, session_id: str, before: int) -> list[IndexedTurn]:
        """Returns the rows by these rules of the turns that lie on the paths of these sessions, in order. Skips
        conversations that were put away.

        ``before``: of session ``session_id`` only turns before this one.
        """
        kept = select(_SESSION.c.id, _STORED, _SESSION.c.path).where(
            _SESSION.c.id.in_(sessions), _SESSION.c.deleted.is_(None)
        )
        query = _ROWS.where(_ROW.c.session_id.in_(sessions), _ROW.c.made_by == made_by)
        with self._transaction() as connection:
            own = kept.where(mine(connection, _SESSION.c.owner))
            paths = {stored: (id_, _pieces(plain(path))) for id_, stored, path in connection.execute(own)}
            query = query.where(in_mine(connection, _ROW.c.session_id))
            found = connection.execute(query.order_by(_ROW.c.session_id, _ROW.c.branch, _ROW.c.number)).all()
        turns = list[IndexedTurn]()
        for stored, branch, number, vector, words in found:
            id_, pieces = paths.get(stored, ("", {}))
            if number in pieces.get(branch, ()) and (id_ != session_id or number < before):
                turns.append(IndexedTurn(id_, branch, number, vector, words))
        return turns

    def text(self, key: TurnKey) -> PastTurn | None:
        """Returns what was said in a turn; None when it is gone."""
        with self._transaction() as connection:
            values = {"in_session": key.session_id, "in_branch": key.branch, "turn": key.number}
            row = connection.execute(_TEXT, values).first()
            return _past(row) if row is not None and may(connection, row.owner) else None

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


def outdated(connection: Connection, session_id: str, branch: int, number: int) -> None:
    """Deletes the row of a turn that is answered once more."""
    connection.execute(delete(_ROW).where(_is(_ROW, TurnKey(session_id, branch, number)), _ROW.c.made_by != ERASED))


def _pieces(path: Path) -> dict[int, range]:
    """Returns the numbers of the turns that a path takes from each of its branches."""
    ends = [first for _, first in path[1:]] + [sys.maxsize]
    return {branch: range(first, end) for (branch, first), end in zip(path, ends, strict=True)}


def _is(table: Table, key: TurnKey) -> ColumnElement[bool]:
    return and_(*(table.c[name] == value for name, value in _names(key).items()))


def _names(key: TurnKey) -> dict[str, Any]:
    return {"session_id": key.session_id, "branch": key.branch, "number": key.number}


def _past(row: Any) -> PastTurn:
    key = TurnKey(row.session_id, row.branch, row.number)
    foreign = bool(row.foreign) or has_frame(row.question)
    return PastTurn(key, row.started, row.question, row.answer or "", foreign)
