"""The branches of sessions: other answers to the same turn, edited questions, copies of a conversation."""

from __future__ import annotations

import itertools
import re
import time
import uuid
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, func, insert, select, update

from errors import SessionUnknown, TurnUnknown
from store import schema
from store.outbox import sent
from store.partial import dropped
from store.path import TRUNK, Path, before, branch_at, fork, on_path, plain

_NUMBER = re.compile(r" \(\d+\)$")


@dataclass(frozen=True, slots=True)
class Alternatives:
    """The versions of one turn: ``branches`` that hold them, oldest first, and the place of the one in use."""

    number: int
    branches: tuple[int, ...]
    current: int


class Tree:
    """Branches of all sessions; ``transaction`` opens a database transaction."""

    def __init__(self, transaction: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._transaction = transaction

    def begin(self, session_id: str, number: int, question: str) -> None:
        """A new branch that leaves the session's path before turn ``number``, with that turn's question, running.

        Raises ``TurnUnknown`` when the path has no such turn.
        """
        now = time.time()
        with self._transaction() as connection:
            path = _reaching(connection, session_id, number)
            newest = connection.execute(select(func.max(schema.branch.c.id)).where(_mine(session_id))).scalar() or 0
            made = fork(path, number, newest + 1)
            row = {"session_id": session_id, "id": newest + 1, "path": made, "used": now}
            connection.execute(insert(schema.branch), row)
            turn = {"session_id": session_id, "branch": newest + 1, "number": number, "question": question}
            connection.execute(insert(schema.turn), {**turn, "status": "running", "started": now})
            sent(connection, session_id, question, number)
            dropped(connection, session_id)
            _walk(connection, session_id, made)

    def switch(self, session_id: str, number: int, branch: int) -> None:
        """Follows the version of turn ``number`` that ``branch`` holds, on the path last used through it."""
        with self._transaction() as connection:
            shared = before(_reaching(connection, session_id, number), number)
            through = [each for each in _paths(connection, session_id) if _holds(each, number, branch, shared)]
            if not through:
                raise TurnUnknown(session=session_id, turn=number)
            _walk(connection, session_id, through[0])

    def copy(self, session_id: str, last_turn: int) -> str:
        """A session of its own with the turns up to ``last_turn`` and their summaries; returns its id."""
        made, now = uuid.uuid4().hex[:16], time.time()
        with self._transaction() as connection:
            path = _reaching(connection, session_id, last_turn)
            table = schema.session
            row = dict(connection.execute(select(table).where(table.c.id == session_id)).one()._mapping)
            row |= {"id": made, "path": TRUNK, "created": now, "pinned": False, "deleted": None}
            row["title"] = _numbered(connection, row["title"])
            connection.execute(insert(table), row)
            connection.execute(insert(schema.branch), {"session_id": made, "id": 0, "path": TRUNK, "used": now})
            for rows, number in ((schema.turn, schema.turn.c.number), (schema.summary, schema.summary.c.last_turn)):
                _copy_rows(connection, rows, number, last_turn, path, (session_id, made))
            _walk(connection, made, TRUNK)
        return made

    def alternatives(self, session_id: str, numbers: Iterable[int]) -> dict[int, Alternatives]:
        """For those of the given turns that have more than one version: which there are."""
        with self._transaction() as connection:
            path, _ = _where(connection, session_id)
            paths = _paths(connection, session_id)
        found = {}
        for number in numbers:
            shared = before(path, number)
            branches = sorted({branch_at(each, number) for each in paths if before(each, number) == shared})
            if len(branches) > 1:
                found[number] = Alternatives(number, tuple(branches), branches.index(branch_at(path, number)))
        return found


def _numbered(connection: Connection, title: str) -> str:
    """The title of a copy: «… (2)», or the next number that no other session has."""
    plain_title, table = _NUMBER.sub("", title), schema.session
    if not plain_title:
        return title
    like = select(table.c.title).where(table.c.title.startswith(f"{plain_title} (", autoescape=True))
    taken = set(connection.execute(like).scalars())
    return next(name for name in (f"{plain_title} ({number})" for number in itertools.count(2)) if name not in taken)


def _reaching(connection: Connection, session_id: str, number: int) -> Path:
    """The session's path, when it has turn ``number``."""
    path, count = _where(connection, session_id)
    if not 1 <= number <= count:
        raise TurnUnknown(session=session_id, turn=number)
    return path


def _where(connection: Connection, session_id: str) -> tuple[Path, int]:
    table = schema.session
    row = connection.execute(select(table.c.path, table.c.turn_count).where(table.c.id == session_id)).one_or_none()
    if row is None:
        raise SessionUnknown(session=session_id)
    return plain(row.path), int(row.turn_count)


def _mine(session_id: str) -> Any:
    return schema.branch.c.session_id == session_id


def _paths(connection: Connection, session_id: str) -> list[Path]:
    """The paths of all branches that hold a turn of their own, last used first."""
    table, turn = schema.branch, schema.turn
    held = select(turn.c.branch).where(turn.c.session_id == session_id).distinct()
    wanted = select(table.c.path).where(_mine(session_id), table.c.id.in_(held)).order_by(table.c.used.desc())
    return [plain(path) for path in connection.execute(wanted).scalars()]


def _holds(path: Path, number: int, branch: int, shared: Path) -> bool:
    return before(path, number) == shared and branch_at(path, number) == branch


def _copy_rows(
    connection: Connection, table: Table, number: ColumnElement[int], last: int, path: Path, ids: tuple[str, str]
) -> None:
    """Copies the rows of the path up to turn ``last`` from the first session to the trunk of the second."""
    source, made = ids
    here = select(table).where(table.c.session_id == source, on_path(table.c.branch, number, path), number <= last)
    rows = [{**row._mapping, "session_id": made, "branch": 0} for row in connection.execute(here)]
    if rows:
        connection.execute(insert(table), [{key: each[key] for key in each if key != "id"} for each in rows])


def _walk(connection: Connection, session_id: str, path: Path) -> None:
    """Makes ``path`` the session's own and counts its turns."""
    table, session, now = schema.turn, schema.session, time.time()
    here = (table.c.session_id == session_id, on_path(table.c.branch, table.c.number, path))
    counted = select(func.max(table.c.number), func.sum(table.c.tokens)).where(*here)
    last, tokens = connection.execute(counted).one()
    values = {"path": path, "turn_count": last or 0, "history_tokens": tokens or 0, "updated": now}
    changed = update(session).where(session.c.id == session_id)
    connection.execute(changed.values(revision=session.c.revision + 1, **values))
    used = update(schema.branch).where(_mine(session_id), schema.branch.c.id == path[-1][0])
    connection.execute(used.values(used=now))
