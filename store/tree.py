"""The branches of sessions: other answers to the same turn, edited questions, copies of a conversation."""

from __future__ import annotations

import itertools
import re
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, messages_to_dict
from sqlalchemy import ColumnElement, Connection, Table, func, insert, select, update

from errors import TurnUnknown
from store import options
from store.attachment import copied
from store.database import schema
from store.foreign import insert_turn
from store.history import copy_marks, put_marks
from store.outbox import sent
from store.owner import check, key_of, mine
from store.partial import dropped
from store.path import TRUNK, Path, before, branch_at, fork, on_path, plain
from store.record import GivenTurn
from store.title import first_line
from store.turn_index_change import record_change
from text.clean import clean

_NUMBER = re.compile(r" \(\d+\)$")


@dataclass(frozen=True, slots=True)
class Alternatives:
    """The versions of one turn. ``branches``: the branches that hold them, oldest first; ``current``: the index of the
    version in use.
    """

    number: int
    branches: tuple[int, ...]
    current: int


@dataclass(frozen=True, slots=True)
class Continued:
    """A version of a turn that is not in use, and the number of turns that follow this version."""

    number: int
    branch: int
    later: int


class Tree:
    """Branches of all sessions; ``transaction`` opens a database transaction."""

    def __init__(self, transaction: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._transaction = transaction

    def begin(self, session_id: str, number: int, question: str) -> None:
        """Begins a new branch that leaves the session's path before turn ``number``, and writes that turn's question as
        running.

        Raises ``TurnUnknown`` when the path has no such turn.
        """
        now = time.time()
        with self._transaction() as connection:
            path = _reaching(connection, session_id, number)
            branch_path = _forked(connection, session_id, path, number, now)
            turn = {"session_id": session_id, "branch": branch_path[-1][0], "number": number, "question": question}
            turn["files"] = _files(connection, session_id, branch_at(path, number), number)
            turn |= {"status": "running", "started": now}
            insert_turn(connection, path, turn)
            sent(connection, session_id, question, number)
            dropped(connection, session_id)
            _walk(connection, session_id, branch_path)

    def give(self, session_id: str, number: int, turns: Sequence[GivenTurn], at: float) -> int:
        """Writes finished turns that a client tells, from turn ``number`` on, and returns the last turn's number.

        Turns after the last one go on; any other ``number`` begins a new branch there. ``at``: when they were told
        (Unix seconds). Without turns nothing changes. Raises ``TurnUnknown`` for a number that leaves a gap.
        """
        with self._transaction() as connection:
            path, count, owner = _where(connection, session_id)
            if not 1 <= number <= count + 1:
                raise TurnUnknown(session=session_id, turn=number)
            if not turns:
                return number - 1
            if number <= count:
                path = _forked(connection, session_id, path, number, at)
            branch = branch_at(path, number)
            rows = [_given(session_id, branch, at_number, turn, at) for at_number, turn in enumerate(turns, number)]
            connection.execute(insert(schema.turn), rows)
            known = [(at_number, turn.question, [turn.answer]) for at_number, turn in enumerate(turns, number)]
            put_marks(connection, owner, session_id, branch, known)
            dropped(connection, session_id)
            _walk(connection, session_id, path, at)
            untitled = (schema.session.c.id == session_id, schema.session.c.title == "")
            connection.execute(update(schema.session).where(*untitled).values(title=first_line(turns[0].question)))
        return number + len(turns) - 1

    def switch(self, session_id: str, number: int, branch: int) -> None:
        """Puts the session on the last used path through the version of turn ``number`` that ``branch`` holds.

        The version need not belong to a turn of the present path. Raises ``TurnUnknown`` when there is no such turn.
        """
        turn = schema.turn
        conditions = (turn.c.session_id == session_id, turn.c.branch == branch, turn.c.number == number)
        with self._transaction() as connection:
            _where(connection, session_id)
            row = connection.execute(select(turn.c.id).where(*conditions)).first()
            paths = [path for path in _paths(connection, session_id) if row and branch_at(path, number) == branch]
            if not paths:
                raise TurnUnknown(session=session_id, turn=number)
            _walk(connection, session_id, paths[0])

    def copy(self, session_id: str, last_turn: int) -> str:
        """Creates a session with the turns up to ``last_turn`` and their summaries; returns the new session's id."""
        copy_id, now = uuid.uuid4().hex[:16], time.time()
        with self._transaction() as connection:
            path = _reaching(connection, session_id, last_turn)
            table = schema.session
            row = dict(connection.execute(select(table).where(table.c.id == session_id)).one()._mapping)
            row |= {"id": copy_id, "path": TRUNK, "created": now, "pinned": False, "deleted": None, "alias": ""}
            row |= {"api_key": key_of(connection), "undelivered": ""}
            row["rewriting"] = ""  # nobody has been asked about the copy
            row["title"] = _numbered(connection, row["title"])
            connection.execute(insert(table), row)
            connection.execute(insert(schema.branch), {"session_id": copy_id, "id": 0, "path": TRUNK, "used": now})
            options.copy(connection, session_id, copy_id)
            for rows, number in (
                (schema.turn, schema.turn.c.number),
                (schema.turn_index, schema.turn_index.c.number),
                (schema.summary, schema.summary.c.last_turn),
            ):
                _copy_rows(connection, rows, number, last_turn, path, (session_id, copy_id))
            copied_summaries = schema.summary.c.session_id == copy_id
            connection.execute(update(schema.summary).where(copied_summaries).values(is_counted=False))
            query = select(schema.turn.c.files).where(schema.turn.c.session_id == copy_id)
            copy_marks(connection, session_id, path, last_turn, copy_id)
            files = [file for turn_files in connection.execute(query).scalars() for file in turn_files or ()]
            copied(connection, session_id, copy_id, files)
            _walk(connection, copy_id, TRUNK)
        return copy_id

    def alternatives(self, session_id: str, numbers: Iterable[int]) -> dict[int, Alternatives]:
        """Returns the versions of those given turns that have more than one, by turn number."""
        with self._transaction() as connection:
            path, *_ = _where(connection, session_id)
            paths = _paths(connection, session_id)
        versions = {}
        for number in numbers:
            shared = before(path, number)
            branches = sorted({branch_at(other, number) for other in paths if before(other, number) == shared})
            if len(branches) > 1:
                versions[number] = Alternatives(number, tuple(branches), branches.index(branch_at(path, number)))
        return versions

    def continued(self, session_id: str, number: int) -> Continued | None:
        """Returns the last used version of turn ``number`` that is not in use and has later turns, else None."""
        turn = schema.turn
        with self._transaction() as connection:
            path, *_ = _where(connection, session_id)
            shared, current = before(path, number), branch_at(path, number)
            others = [candidate for candidate in _paths(connection, session_id) if before(candidate, number) == shared]
            for other in (candidate for candidate in others if branch_at(candidate, number) != current):
                after = (turn.c.session_id == session_id, turn.c.number > number)
                counted = select(func.count()).where(*after, on_path(turn.c.branch, turn.c.number, other))
                if later := int(connection.execute(counted).scalar_one()):
                    return Continued(number, branch_at(other, number), later)
        return None


def _numbered(connection: Connection, title: str) -> str:
    """Returns the title of a copy: «… (2)», or the next number that no other session has."""
    plain_title, table = _NUMBER.sub("", title), schema.session
    if not plain_title:
        return title
    like = select(table.c.title).where(
        table.c.title.startswith(f"{plain_title} (", autoescape=True), mine(connection, table.c.owner)
    )
    titles = set(connection.execute(like).scalars())
    return next(name for name in (f"{plain_title} ({number})" for number in itertools.count(2)) if name not in titles)


def _reaching(connection: Connection, session_id: str, number: int) -> Path:
    """Returns the session's path. Raises ``TurnUnknown`` when the path has no turn ``number``."""
    path, count, _ = _where(connection, session_id)
    if not 1 <= number <= count:
        raise TurnUnknown(session=session_id, turn=number)
    return path


def _where(connection: Connection, session_id: str) -> tuple[Path, int, str]:
    """Returns the session's path, the number of its turns, and its owner. Raises ``SessionUnknown``."""
    table = schema.session
    query = select(table.c.path, table.c.turn_count, table.c.owner).where(table.c.id == session_id)
    row = connection.execute(query).one_or_none()
    check(connection, session_id, row.owner if row else None)
    assert row is not None
    return plain(row.path), int(row.turn_count), str(row.owner)


def _forked(connection: Connection, session_id: str, path: Path, number: int, now: float) -> Path:
    """Begins a new branch that leaves ``path`` before turn ``number``; returns the path along that branch."""
    newest = connection.execute(select(func.max(schema.branch.c.id)).where(_of(session_id))).scalar() or 0
    forked = fork(path, number, newest + 1)
    row = {"session_id": session_id, "id": newest + 1, "path": forked, "used": now}
    connection.execute(insert(schema.branch), row)
    return forked


def _given(session_id: str, branch: int, number: int, turn: GivenTurn, at: float) -> dict[str, Any]:
    """Returns the row of a turn that a client tells."""
    question = HumanMessage(clean(turn.question), id=f"{session_id}-{number}", additional_kwargs={"turn": number})
    answer = AIMessage(clean(turn.answer), id=f"{session_id}-{branch}-{number}-answer")
    return {
        "session_id": session_id,
        "branch": branch,
        "number": number,
        "question": turn.question,
        "answer": turn.answer,
        "status": "done",
        "messages": messages_to_dict([question, answer]),
        "steps": [],
        "tokens": turn.tokens,
        "started": at,
        "finished": at,
        "given": True,
        "has_foreign": True,  # nobody knows what the client's answer was made from
    }


def _files(connection: Connection, session_id: str, branch: int, number: int) -> Any:
    """Returns the files of a turn as its row holds them."""
    table = schema.turn
    key = (table.c.session_id == session_id, table.c.branch == branch, table.c.number == number)
    return connection.execute(select(table.c.files).where(*key)).scalar()


def _of(session_id: str) -> Any:
    return schema.branch.c.session_id == session_id


def _paths(connection: Connection, session_id: str) -> list[Path]:
    """Returns the paths of all branches that hold a turn of their own, last used first."""
    table, turn = schema.branch, schema.turn
    used_branches = select(turn.c.branch).where(turn.c.session_id == session_id).distinct()
    query = select(table.c.path).where(_of(session_id), table.c.id.in_(used_branches)).order_by(table.c.used.desc())
    return [plain(path) for path in connection.execute(query).scalars()]


def _copy_rows(
    connection: Connection, table: Table, number: ColumnElement[int], last: int, path: Path, ids: tuple[str, str]
) -> None:
    """Copies the rows of the path up to turn ``last`` from the first session to the trunk of the second."""
    source, copy_id = ids
    query = select(table).where(table.c.session_id == source, on_path(table.c.branch, number, path), number <= last)
    rows = [{**row._mapping, "session_id": copy_id, "branch": 0} for row in connection.execute(query)]
    if rows:
        connection.execute(insert(table), [{key: values[key] for key in values if key != "id"} for values in rows])


def _walk(connection: Connection, session_id: str, path: Path, at: float | None = None) -> None:
    """Makes ``path`` the session's path and counts its turns. ``at``: when (Unix seconds); None: now."""
    table, session = schema.turn, schema.session
    now = time.time() if at is None else at
    conditions = (table.c.session_id == session_id, on_path(table.c.branch, table.c.number, path))
    counted = select(func.max(table.c.number), func.sum(table.c.tokens)).where(*conditions)
    last, tokens = connection.execute(counted).one()
    values = {"path": path, "turn_count": last or 0, "history_tokens": tokens or 0, "updated": now}
    changed = update(session).where(session.c.id == session_id)
    connection.execute(changed.values(revision=session.c.revision + 1, **values))
    used = update(schema.branch).where(_of(session_id), schema.branch.c.id == path[-1][0])
    connection.execute(used.values(used=now))
    record_change(connection, session_id, rebuilt=False)
