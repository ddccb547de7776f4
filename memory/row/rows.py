"""The rows of long-term memory in the database: the only truth about what is remembered (design 6).

A row belongs to a turn of a session, and counts as long as the session's path holds that turn. So switching to another
version of an answer, editing a question or deleting a conversation needs no repair: reading leaves out what is not
there.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from sqlalchemy import Connection, Row, Select, bindparam, delete, func, insert, select, true, update

from memory.key import Scope
from memory.state import (
    MOST_WAITING,
    SHORT_TURNS,
    Kind,
    MemoryLine,
    MemoryState,
    MemoryTurn,
    OldValue,
    Rejection,
    shorten_turn,
)
from prompt import sentences_of_ours
from store import Store
from store.database import memory_table as table
from store.database import schema
from store.database.insert import insert_into
from store.path import TRUNK, Path, branch_at, on_path, parse_path
from store.search.turn_index import FINISHED
from store.turn.foreign import HAS_FOREIGN
from text.answer.cited_turn import strip_marks
from text.fence import has_frame, remove_frames

VERSIONS_AT_ONCE = 20
"""Versions that are read at a time to find the newest one on the path."""
_TURN, _SESSION = schema.turn.c, schema.session.c
_SOURCE, _LINE, _VERSION = table.source.c, table.line.c, table.version.c
_ENDED = (*FINISHED, "failed")
_SAID = (
    *(_TURN.number, _TURN.branch, _TURN.question, _TURN.answer, _TURN.status, _TURN.started),
    *(HAS_FOREIGN, _TURN.is_imported),
)
_HEAD = (
    select(
        _SOURCE.user,
        _SOURCE.apart,
        _SOURCE.skipped,
        _SOURCE.erased_at,
        _SOURCE.rejection,
        _SOURCE.proposal,
        _SOURCE.revision,
        _SESSION.path,
        _SESSION.owner,
        table.user.c.apart.label("user_apart"),
    )
    .select_from(
        schema.session.outerjoin(
            table.source, (_SOURCE.session == _SESSION.id) & (_SOURCE.tenant == bindparam("of_tenant"))
        ).outerjoin(table.user, (table.user.c.user == _SESSION.owner) & (table.user.c.tenant == bindparam("of_tenant")))
    )
    .where(_SESSION.id == bindparam("of_session"))
)


_FORGOTTEN = select(table.line).where(_LINE.tenant == bindparam("of_tenant"), _LINE.kind == "forgotten")
_FORGOTTEN_HERE = _FORGOTTEN.where(_LINE.session == bindparam("of_session"))
_APART = select(_SOURCE.session).where(
    _SOURCE.tenant == bindparam("of_tenant"), _SOURCE.user == bindparam("of_user"), _SOURCE.apart.is_(True)
)
_FORGOTTEN_EVERYWHERE = _FORGOTTEN.where(_LINE.user == bindparam("of_user"), _LINE.session.not_in(_APART))
_OTHERS = (
    select(_SOURCE.session)
    .where(
        *(_SOURCE.tenant == bindparam("of_tenant"), _SOURCE.user == bindparam("of_user")),
        *(_SOURCE.session != "", _SOURCE.session != bindparam("but"), _SOURCE.apart.is_(False)),
    )
    .order_by(_SOURCE.updated.desc())
    .limit(bindparam("most"))
)


@dataclass(frozen=True, slots=True)
class Head:
    """What memory knows of a session as a whole, and the session's path. ``proposal``: as its row has it
    (``memory.view.proposal``); ``is_noted``: its row says whose it is; ``user_apart``: the user has switched off that
    memory is carried over; None: not read yet."""

    scope: Scope
    user: str = ""
    path: Path = field(default_factory=lambda: [*TRUNK])
    apart: bool = False
    skipped: int = 0
    erased_at: float = 0.0
    rejection: Rejection | None = None
    revision: int = 0
    proposal: dict[str, Any] | None = None
    is_noted: bool = False
    user_apart: bool | None = None

    def has(self, branch: int, turn: int) -> bool:
        """Tells whether the path holds a turn; turn 0 is before every path."""
        return is_on_path(self.path, branch, turn)

    @property
    def first_proposed(self) -> int:
        """Returns the oldest turn that the waiting proposal takes in; 0 without one on the path."""
        sources = (self.proposal or {}).get("sources", [])
        return next((number for branch, number, _ in sources[:1] if self.has(branch, number)), 0)

    def branch_of(self, turn: int) -> int:
        """Returns the branch of the path that holds a turn; of turn 0 the trunk."""
        return branch_at(self.path, turn) if turn else 0


class MemoryRows:
    """Transactions on these rows; they reach the memories of all users, so callers name whose they mean."""

    def __init__(self, store: Store) -> None:
        everyone = store.everyone
        self.transaction, self.engine = everyone.transaction, everyone.engine

    @contextmanager
    def alone(self) -> Iterator[Connection]:
        """Opens a transaction that no other writer of an SQLite file runs beside, so that what it reads stays true."""
        with self.transaction() as connection:
            if connection.dialect.name == "sqlite":
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            yield connection

    @contextmanager
    def writing(self, scope: Scope, user: str) -> Iterator[Connection]:
        """Opens a transaction that changes a session's memory, alone: another one waits for it.

        ``user``: whose session it is, where the database does not say so yet.
        """
        with self.alone() as connection:
            bump_session_revision(connection, scope, user)
            yield connection


def bump_session_revision(connection: Connection, scope: Scope, user: str) -> None:
    """Writes the row of a session, if it has none, and raises its revision; the row stays locked."""
    names = {"tenant": scope.tenant, "session": scope.session, "user": user, "revision": 1, "updated": time.time()}
    statement = insert_into(connection, table.source).values(**names)
    changed = {"revision": table.source.c.revision + 1, "updated": names["updated"]}
    connection.execute(statement.on_conflict_do_update(index_elements=["tenant", "session"], set_=changed))


# --- reading ------------------------------------------------------------------------------------


def read_head(connection: Connection, scope: Scope) -> Head:
    """Returns what memory knows of a session; of one that is not in the record, its row alone."""
    row = connection.execute(_HEAD, {"of_tenant": scope.tenant, "of_session": scope.session}).one_or_none()
    if row is None:
        lone = select(table.source).where(*match_session(table.source, scope))
        found = connection.execute(lone).one_or_none()
        return _make_head(scope, found, TRUNK, found.user if found else "")
    return replace(_make_head(scope, row, parse_path(row.path), row.owner), user_apart=bool(row.user_apart))


def _make_head(scope: Scope, row: Any, path: Path, user: str) -> Head:
    if row is None:
        return Head(scope, user, path)
    rejection = Rejection(**row.rejection) if row.rejection else None
    known = (bool(row.apart), row.skipped or 0, row.erased_at or 0.0, rejection, row.revision or 0, row.proposal)
    return Head(scope, user, path, *known, is_noted=bool(row.user))


def read_stamp(connection: Connection, head: Head) -> str:
    """Returns a text that changes whenever the memory of the session may read otherwise."""
    newest = select(_TURN.id, _TURN.finished).where(*_match_ended(head)).order_by(_TURN.number.desc()).limit(1)
    row = connection.execute(newest).one_or_none()
    return f"{head.revision} {head.path} {tuple(row) if row else ()}"


def read_memory(connection: Connection, head: Head) -> MemoryState:
    """Returns the memory of a session as its rows have it now."""
    version = read_newest_version(connection, head)
    folded = max(head.skipped, version.folded if version else 0)
    short = read_short(connection, head, folded)
    rejection = head.rejection if head.rejection and short and head.rejection.seen <= short[-1].number else None
    if version is None:
        return MemoryState(folded=folded, short=short, rejection=rejection, apart=head.apart, user=head.user,
                     revision=head.revision)  # fmt: skip
    lines = read_lines_of(connection, [*version.lines, *version.entities])
    entities = tuple(lines[each] for each in version.entities if each in lines)
    return MemoryState(
        version=version.number,
        version_id=version.id,
        updated=version.created,
        language=version.language,
        lines=tuple(lines[each] for each in version.lines if each in lines),
        entities=entities,
        old_values=read_old_values(connection, head, entities),
        folded=folded,
        short=short,
        rejection=rejection,
        apart=head.apart,
        user=head.user,
        revision=head.revision,
    )


def read_newest_version(connection: Connection, head: Head) -> Row[Any] | None:
    """Returns the newest version on the session's path that was not undone."""
    return next(iter_versions(connection, head), None)


def iter_versions(connection: Connection, head: Head) -> Iterator[Row[Any]]:
    """Yields the versions on the session's path that were not undone, newest first."""
    query = select(table.version).where(*match_session(table.version, head.scope), _VERSION.undone.is_(False))
    last: int | None = None
    while True:
        some = query if last is None else query.where(_VERSION.id < last)
        rows = connection.execute(some.order_by(_VERSION.id.desc()).limit(VERSIONS_AT_ONCE)).all()
        yield from (row for row in rows if head.has(row.branch, row.turn))
        if len(rows) < VERSIONS_AT_ONCE:
            return
        last = rows[-1].id


def read_lines_of(connection: Connection, ids: Iterable[int]) -> dict[int, MemoryLine]:
    """Returns the lines with these ids, without those that were forgotten."""
    query = select(table.line).where(_LINE.id.in_(set(ids)), _LINE.forgotten_at.is_(None))
    return {row.id: as_line(row) for row in connection.execute(query)}


def read_old_values(connection: Connection, head: Head, entities: Sequence[MemoryLine]) -> tuple[OldValue, ...]:
    """Returns the last other value that each entity had before on the path, where the rows say so."""
    if not entities:
        return ()
    query = select(table.line).where(
        *match_session(table.line, head.scope),
        _LINE.kind == "entity",
        _LINE.replaced_by > _LINE.id,  # so that no import leads in a circle
        _LINE.forgotten_at.is_(None),
    )
    rows = [as_line(row) for row in connection.execute(query.order_by(_LINE.id))]
    before = {row.replaced_by: row for row in rows if head.has(row.branch, row.turn)}
    found = list[OldValue]()
    for entity in entities:
        now, old = entity, before.get(entity.id)
        while old is not None and old.text == now.text:  # the same value, said again
            now, old = old, before.get(old.id)
        if old is not None and now.turn:
            found.append(OldValue(entity.id, old.text, now.turn))
    return tuple(found)


def read_short(connection: Connection, head: Head, folded: int) -> tuple[MemoryTurn, ...]:
    """Returns the last five finished turns of the path, and ``MOST_WAITING`` older ones after turn ``folded``, as
    memory reads them; oldest first. A memory begins with the newest; one that has begun goes on where it stands, so
    that no turn is left out while a proposal waits or folds fail."""
    newest = read_memory_turns(connection, head, head.skipped + 1, limit=SHORT_TURNS)
    if len(newest) < SHORT_TURNS or newest[0].number <= folded + 1:
        return newest
    first = folded + 1 if folded > head.skipped else max(head.first_proposed, folded)
    if first <= folded:
        return read_memory_turns(connection, head, folded + 1, limit=MOST_WAITING)
    oldest = read_memory_turns(connection, head, first, limit=MOST_WAITING, is_oldest=True)
    return (*(turn for turn in oldest if turn.number < newest[0].number), *newest)


def read_memory_turns(
    connection: Connection,
    head: Head,
    first: int,
    last: int | None = None,
    limit: int | None = None,
    is_oldest: bool = False,
) -> tuple[MemoryTurn, ...]:
    """Returns finished turns of the path from ``first`` to ``last``, oldest first: the newest ``limit``, or with
    ``is_oldest`` the oldest.

    Leaves out what came from outside: what a client sent along, and half an answer.
    """
    query = select(*_SAID).where(*_match_ended(head), _TURN.number >= first)
    query = query if last is None else query.where(_TURN.number <= last)
    order = _TURN.number if is_oldest else _TURN.number.desc()
    rows = connection.execute(query.order_by(order).limit(limit)).all()
    return tuple(_make_memory_turn(row) for row in (rows if is_oldest else reversed(rows)))


def _make_memory_turn(row: Row[Any]) -> MemoryTurn:
    answer = strip_marks(row.answer or "") if row.status in FINISHED else ""
    foreign = row.has_foreign or has_frame(row.question)
    question = "" if row.question in sentences_of_ours() else remove_frames(row.question)
    said = MemoryTurn(row.number, question, answer, row.started, row.branch, foreign, row.is_imported)
    return shorten_turn(said)


def _match_ended(head: Head) -> tuple[Any, ...]:
    on = on_path(_TURN.branch, _TURN.number, head.path)
    kept = _TURN.started > head.erased_at if head.erased_at else true()
    return _TURN.session_id == head.scope.session, on, _TURN.status.in_(_ENDED), kept


def read_forgotten(connection: Connection, head: Head, everywhere: bool) -> list[MemoryLine]:
    """Returns the texts that the user had forgotten in this session and, with ``everywhere``, in the user's others that
    are not kept apart."""
    values = {"of_tenant": head.scope.tenant, "of_session": head.scope.session, "of_user": head.user}
    found = connection.execute(_FORGOTTEN_EVERYWHERE if everywhere else _FORGOTTEN_HERE, values)
    return [as_line(row) for row in found]


def select_apart(head: Head) -> Select[Any]:
    """Returns the query for the user's sessions that are kept apart."""
    return select(_SOURCE.session).where(
        _SOURCE.tenant == head.scope.tenant, _SOURCE.user == head.user, _SOURCE.apart.is_(True)
    )


def read_user_apart(connection: Connection, tenant: str, user: str) -> bool:
    """Tells whether the user has switched off that memory is carried over."""
    query = select(table.user.c.apart).where(table.user.c.tenant == tenant, table.user.c.user == user)
    return bool(connection.execute(query).scalar_one_or_none())


def read_sessions(connection: Connection, tenant: str, user: str, most: int | None = None) -> list[Row[Any]]:
    """Returns the rows of a user's sessions, the last changed first."""
    query = select(table.source).where(_SOURCE.tenant == tenant, _SOURCE.user == user)
    return [*connection.execute(query.order_by(_SOURCE.updated.desc()).limit(most))]


def read_heads(connection: Connection, tenant: str, user: str, most: int) -> list[Head]:
    """Returns what memory knows of a user's sessions that are not deleted, the last changed first."""
    rows = select(table.source, _SESSION.path).join(schema.session, _SESSION.id == _SOURCE.session, isouter=True)
    mine = (_SOURCE.tenant == tenant, _SOURCE.user == user, _SESSION.deleted.is_(None))
    found = connection.execute(rows.where(*mine).order_by(_SOURCE.updated.desc()).limit(most))
    return [
        _make_head(Scope(tenant, row.session), row, parse_path(row.path) if row.path else TRUNK, user) for row in found
    ]


def read_newest_versions(connection: Connection, heads: Sequence[Head]) -> list[Row[Any]]:
    """Returns the newest version on the path of each of one tenant's sessions that has one, in their order."""
    by_session = {head.scope.session: head for head in heads}
    places = select(_VERSION.id, _VERSION.session, _VERSION.branch, _VERSION.turn).where(
        _VERSION.tenant.in_({head.scope.tenant for head in heads}),
        _VERSION.session.in_(by_session),
        _VERSION.undone.is_(False),
    )
    newest = dict[str, int]()
    for row in connection.execute(places.order_by(_VERSION.id)):
        if by_session[row.session].has(row.branch, row.turn):
            newest[row.session] = row.id
    rows = connection.execute(select(table.version).where(_VERSION.id.in_(newest.values()))).all()
    versions = {row.session: row for row in rows}
    return [versions[session] for session in by_session if session in versions]


def read_other_sessions(connection: Connection, head: Head, session: str, most: int) -> list[str]:
    """Returns the ids of the user's sessions beside this one that are not kept apart, the last changed first."""
    values = {"of_tenant": head.scope.tenant, "of_user": head.user, "but": session, "most": most}
    return [*connection.execute(_OTHERS, values).scalars()]


def count_sessions(connection: Connection) -> int:
    """Returns how many sessions have a memory, of all users."""
    return int(connection.execute(select(func.count()).select_from(table.source)).scalar_one())


# --- writing ------------------------------------------------------------------------------------


def add_line(connection: Connection, head: Head, **values: Any) -> int:
    """Writes a line and returns its id. Without a ``branch`` it belongs to the path's own."""
    names = {"tenant": head.scope.tenant, "session": head.scope.session, "user": head.user}
    values.setdefault("branch", head.branch_of(values["turn"]))
    made = connection.execute(insert(table.line), {**names, **values})
    assert made.inserted_primary_key is not None
    return int(made.inserted_primary_key[0])


def change_lines(connection: Connection, ids: Sequence[int], **values: Any) -> None:
    """Changes these lines."""
    if ids:
        connection.execute(update(table.line).where(_LINE.id.in_(ids)).values(**values))


def add_version(
    connection: Connection,
    head: Head,
    before: MemoryState,
    lines: Sequence[int],
    entities: Sequence[int],
    **values: Any,
) -> int:
    """Writes the next version of a session's text and returns its id. It belongs to the last turn that it took in, or
    that the version before it did."""
    turn = values.pop("turn", before.folded)
    row = {
        "tenant": head.scope.tenant,
        "session": head.scope.session,
        "number": before.version + 1,
        "branch": head.branch_of(turn),
        "turn": turn,
        "first": 0,
        "folded": before.folded,
        "language": before.language,
        "created": time.time(),
        "undone": False,
        "lines": [*lines],
        "entities": [*entities],
        "record": {},
    }
    made = connection.execute(insert(table.version), {**row, **values})
    assert made.inserted_primary_key is not None
    return int(made.inserted_primary_key[0])


def change_source(connection: Connection, scope: Scope, **values: Any) -> None:
    """Changes the row of a session."""
    connection.execute(update(table.source).where(*match_session(table.source, scope)).values(**values))


def write_rejection(connection: Connection, scope: Scope, rejection: Rejection | None) -> None:
    """Notes why the last fold was rejected; None: it was not."""
    change_source(connection, scope, rejection=asdict(rejection) if rejection else None)


def delete_rows(connection: Connection, scope: Scope, keep: Collection[Kind] = ()) -> None:
    """Deletes the rows of a session's memory, and the texts that its prompts received. ``keep``: kinds of lines that
    stay, with the row of the session."""
    connection.execute(delete(table.version).where(*match_session(table.version, scope)))
    lines = (*match_session(table.line, scope), _LINE.kind.not_in(keep))
    connection.execute(delete(table.line).where(*lines))
    left = select(_LINE.id).where(*match_session(table.line, scope)).limit(1)
    if connection.execute(left).first() is None:
        connection.execute(delete(table.source).where(*match_session(table.source, scope)))
    connection.execute(delete(table.given).where(table.given.c.scope == scope.tag))


def is_on_path(path: Path, branch: int, turn: int) -> bool:
    """Tells whether a path holds a turn of a branch; turn 0 is before every path."""
    return turn == 0 or branch_at(path, turn) == branch


def as_line(row: Row[Any] | Mapping[str, Any]) -> MemoryLine:
    """Returns a row of ``memory_line`` as data."""
    values = row if isinstance(row, Mapping) else row._mapping
    return MemoryLine(**{name: values[name] for name in MemoryLine.__dataclass_fields__})


def match_session(of: Any, scope: Scope) -> tuple[Any, ...]:
    """Returns the conditions that a row of this table belongs to a session."""
    return of.c.tenant == scope.tenant, of.c.session == scope.session
