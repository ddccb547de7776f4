"""What a turn reads of its session in one statement, and hands down: nothing of it is read a second time.

The turn holds the session's lock meanwhile, so that no other turn, and no switch to another branch, changes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, and_, bindparam, exists, or_, select

from store.database import schema
from store.owner import check_session_owner
from store.path import Path, branch_at, parse_path
from store.record import Session, TurnStatus
from store.session.options import DEFAULT, AnswerOptions
from store.turn.image import list_image_keys

_SESSION, _TURN, _OPTIONS = schema.session.c, schema.turn.c, schema.session_options.c
_PLACE = (
    _TURN.branch.label("in_branch"),
    _TURN.number.label("at_number"),
    _TURN.question,
    _TURN.status,
    _TURN.files,
    _TURN.has_foreign.label("is_marked"),
    _TURN.is_imported.label("is_asked_by_file"),
)
_BRANCHES = select(schema.branch.c.id).where(schema.branch.c.session_id == _SESSION.id)
ON_ITS_BRANCHES = and_(_TURN.session_id == _SESSION.id, _TURN.branch.in_(_BRANCHES))
"""Joins the turns of a session, of whatever branch. With the branches named, the key of the turns answers the look-up,
however many turns there are."""
_OF_OPTIONS = tuple(_OPTIONS[name].label(f"own_{name}") for name in AnswerOptions.__slots__)
_HAS_IMAGES = exists(select(schema.image.c.key).where(schema.image.c.session_id == _SESSION.id)).label("has_images")
_OPENING = (
    select(schema.session, *_OF_OPTIONS, *_PLACE, _HAS_IMAGES)
    .select_from(
        schema.session.outerjoin(schema.session_options, _OPTIONS.session_id == _SESSION.id).outerjoin(
            schema.turn, and_(ON_ITS_BRANCHES, or_(_TURN.number == 1, _TURN.number == _SESSION.turn_count))
        )
    )
    .where(_SESSION.id == bindparam("session"))
)
_OF_TURN = (
    select(_SESSION.owner, _SESSION.path, *_PLACE)
    .select_from(schema.session.outerjoin(schema.turn, and_(ON_ITS_BRANCHES, _TURN.number == bindparam("turn"))))
    .where(_SESSION.id == bindparam("session"))
)


@dataclass(frozen=True, slots=True)
class TurnPlace:
    """Where the row of a turn lies, and what stands in it from its beginning. ``with_files``, ``with_images``: files to
    be read, or images, came with the question; ``has_foreign``: the row says that a prompt held text of others;
    ``is_imported``: that the question comes out of a file."""

    session_id: str
    owner: str
    branch: int
    number: int
    question: str
    status: TurnStatus
    with_files: bool
    has_foreign: bool
    with_images: bool = False
    is_imported: bool = False

    @property
    def key(self) -> dict[str, Any]:
        """Returns the values that name the row in the statements of every turn."""
        return {"session": self.session_id, "in_branch": self.branch, "turn": self.number}


@dataclass(frozen=True, slots=True)
class Opening:
    """A session as a turn finds it. ``first``, ``last``: the first and the last turn of its path, if there is one;
    ``has_images``: images came with some of its questions, or go with the next."""

    session: Session
    options: AnswerOptions
    first: TurnPlace | None
    last: TurnPlace | None
    has_images: bool = False

    @property
    def status(self) -> TurnStatus | None:
        """Returns the status of the last turn; None before the first one."""
        return self.last.status if self.last is not None else None


def read_opening(connection: Connection, session_id: str) -> Opening:
    """Returns a session as its next turn finds it. Raises ``SessionUnknown``."""
    rows = connection.execute(_OPENING, {"session": session_id}).all()
    check_session_owner(connection, session_id, rows[0].owner if rows else None)
    session = as_session(rows[0])
    own = {name: rows[0]._mapping[f"own_{name}"] for name in AnswerOptions.__slots__}
    options = DEFAULT if own["system_prompt"] is None else AnswerOptions(**own)
    places = {place.number: place for row in rows if (place := _make_place(session_id, session.path, row))}
    return Opening(session, options, places.get(1), places.get(session.turn_count), bool(rows[0].has_images))


def read_place(connection: Connection, session_id: str, number: int) -> TurnPlace | None:
    """Returns the row of a turn of the session's path; None where there is none. Raises ``SessionUnknown``."""
    rows = connection.execute(_OF_TURN, {"session": session_id, "turn": number}).all()
    check_session_owner(connection, session_id, rows[0].owner if rows else None)
    found = (_make_place(session_id, parse_path(row.path), row) for row in rows)
    return next((place for place in found if place is not None), None)


def as_session(row: Any) -> Session:
    """Returns a row with the columns of the session table as a ``Session``."""
    values = {name: row._mapping[name] for name in Session.__slots__}
    return Session(**{**values, "path": parse_path(values["path"])})


def _make_place(session_id: str, path: Path, row: Any) -> TurnPlace | None:
    """Returns the turn in a row, where there is one and it lies on the path."""
    if row.at_number is None or branch_at(path, row.at_number) != row.in_branch:
        return None
    documents, images = find_file_kinds(row.files)
    turn = (row.in_branch, row.at_number, row.question, row.status, documents, bool(row.is_marked), images)
    return TurnPlace(session_id, row.owner, *turn, is_imported=bool(row.is_asked_by_file))


def find_file_kinds(files: Sequence[Mapping[str, str]] | None) -> tuple[bool, bool]:
    """Returns whether documents, and whether images, are among the files of a turn."""
    images = len(list_image_keys(files))
    return len(files or ()) > images, images > 0
