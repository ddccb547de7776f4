"""Tasks that other agents gave us (A2A): what the door needs to find them again, in any process and after a restart.

The store reads no task; its content is bytes in the protocol's form. A task belongs to a user, as a session does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, and_, delete, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from store.database import task_table
from store.owner import build_owner_condition, key_of, owner_of_new

_TABLE = task_table.task
CANCELED = "canceled"


@dataclass(frozen=True, slots=True)
class TaskRow:
    """A task. ``context``: the session's name at the client; ``ended``: whether the task is in a final state;
    ``version``: rises with every change; ``worker``, ``beat``: see ``store.worker``; ``updated``: Unix seconds;
    ``world_id``: of the world whose story it goes on with, else empty; ``api_key``: as of a session."""

    id: str
    owner: str
    context: str
    state: str
    ended: bool
    version: int
    worker: str
    beat: float
    updated: float
    world_id: str
    body: bytes
    api_key: str


@dataclass(frozen=True, slots=True)
class Change:
    """What a task becomes."""

    id: str
    context: str
    state: str
    ended: bool
    worker: str
    body: bytes
    world_id: str = ""


class TaskTable:
    """The tasks of a user, or of everyone; ``transaction`` opens a database transaction."""

    def __init__(self, transaction: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._transaction = transaction

    def add(self, change: Change) -> int | None:
        """Creates a task of the store's user; returns its version, or None when the id is taken."""
        now = _round_current_time()
        values = {"version": 1, "beat": now, "updated": now}
        try:
            with self._transaction() as connection:
                row = {**_read_change_values(change), **values, "id": change.id, "owner": owner_of_new(connection)}
                connection.execute(insert(_TABLE), row | {"api_key": key_of(connection)})
        except Exception as error:
            if isinstance(error.__cause__, IntegrityError) or isinstance(error, IntegrityError):
                return None
            raise
        return 1

    def save(self, change: Change, version: int) -> int | None:
        """Changes a task that has this version; returns the new version, or None when somebody else changed it."""
        return self._change(change, _TABLE.c.version == version)

    def cancel(self, change: Change) -> int | None:
        """Changes a task that has not ended, whatever its version; returns the new one, or None when it has ended."""
        return self._change(change, _TABLE.c.ended.is_(False))

    def _change(self, change: Change, condition: ColumnElement[bool]) -> int | None:
        now = _round_current_time()
        with self._transaction() as connection:
            own = (_TABLE.c.id == change.id, build_owner_condition(connection, _TABLE.c.owner), condition)
            new = {**_read_change_values(change), "version": _TABLE.c.version + 1, "beat": now, "updated": now}
            return connection.execute(update(_TABLE).where(*own).values(new).returning(_TABLE.c.version)).scalar()

    def get(self, task_id: str) -> TaskRow | None:
        """Returns a task; None when there is none, or it is another user's."""
        with self._transaction() as connection:
            own = (_TABLE.c.id == task_id, build_owner_condition(connection, _TABLE.c.owner))
            row = connection.execute(select(_TABLE).where(*own)).one_or_none()
        return None if row is None else TaskRow(**row._mapping)

    def remove(self, task_id: str) -> None:
        """Removes a task, and whom to tell of it."""
        with self._transaction() as connection:
            delete_tasks(connection, _TABLE.c.id == task_id, build_owner_condition(connection, _TABLE.c.owner))

    def page(
        self,
        limit: int,
        context: str = "",
        states: Collection[str] = (),
        since: float = 0.0,
        after: tuple[float, str] | None = None,
    ) -> tuple[list[TaskRow], int]:
        """Returns tasks, those changed last first, and how many there are on all pages. ``after``: the moment and the
        id of the last one of the page before."""
        with self._transaction() as connection:
            wanted = [build_owner_condition(connection, _TABLE.c.owner)]
            wanted += [_TABLE.c.context == context] if context else []
            wanted += [_TABLE.c.state.in_(sorted(states))] if states else []
            wanted += [_TABLE.c.updated >= since] if since else []
            total = connection.execute(select(func.count()).select_from(_TABLE).where(*wanted)).scalar() or 0
            if after is not None:
                moment, last = after
                later = and_(_TABLE.c.updated == moment, _TABLE.c.id < last)
                wanted.append(or_(_TABLE.c.updated < moment, later))
            query = select(_TABLE).where(*wanted).order_by(_TABLE.c.updated.desc(), _TABLE.c.id.desc()).limit(limit)
            return [TaskRow(**row._mapping) for row in connection.execute(query)], total

    def count(self, context: str, state: str, but: str) -> int:
        """Returns how many tasks of a context are in a state, without the task ``but``."""
        with self._transaction() as connection:
            here = [_TABLE.c.context == context, _TABLE.c.state == state, _TABLE.c.id != but]
            here.append(build_owner_condition(connection, _TABLE.c.owner))
            return connection.execute(select(func.count()).select_from(_TABLE).where(*here)).scalar() or 0

    def beat(self, worker: str) -> None:
        """Says that the process lives which runs these tasks."""
        with self._transaction() as connection:
            own = (
                _TABLE.c.ended.is_(False),
                _TABLE.c.worker == worker,
                build_owner_condition(connection, _TABLE.c.owner),
            )
            connection.execute(update(_TABLE).where(*own).values(beat=_round_current_time()))

    def of(self, worker: str, states: Sequence[str]) -> list[TaskRow]:
        """Returns the tasks in these states that a process runs."""
        return self._open(_TABLE.c.worker == worker, _TABLE.c.state.in_(list(states)))

    def list_foreign_tasks(self, worker: str, states: Sequence[str]) -> list[TaskRow]:
        """Returns the tasks in these states that other processes run."""
        return self._open(_TABLE.c.worker != worker, _TABLE.c.state.in_(list(states)))

    def is_any_open(self) -> bool:
        """Returns whether a task has not ended, or news of one is not delivered yet."""
        waits = select(task_table.undelivered.c.id).exists()
        with self._transaction() as connection:
            begun = (
                select(_TABLE.c.id)
                .where(_TABLE.c.ended.is_(False), build_owner_condition(connection, _TABLE.c.owner))
                .exists()
            )
            return bool(connection.execute(select(or_(begun, waits))).scalar())

    def _open(self, *condition: ColumnElement[bool]) -> list[TaskRow]:
        with self._transaction() as connection:
            own = (_TABLE.c.ended.is_(False), build_owner_condition(connection, _TABLE.c.owner), *condition)
            return [TaskRow(**row._mapping) for row in connection.execute(select(_TABLE).where(*own))]


def delete_tasks(connection: Connection, *condition: ColumnElement[bool]) -> None:
    """Deletes tasks, and whom to tell of them."""
    ids = list(connection.execute(select(_TABLE.c.id).where(*condition)).scalars())
    for table, column in (
        (task_table.undelivered, task_table.undelivered.c.task_id),
        (task_table.push, task_table.push.c.task_id),
        (_TABLE, _TABLE.c.id),
    ):
        connection.execute(delete(table).where(column.in_(ids)))


def removed_of_session(connection: Connection, owner: str, names: Collection[str]) -> None:
    """Deletes the tasks of a session that its owner deletes. ``names``: its id, and its name at the client."""
    delete_tasks(connection, _TABLE.c.owner == owner, _TABLE.c.context.in_([name for name in names if name]))


def removed_of_world(connection: Connection, world_id: str) -> None:
    """Deletes the tasks that told a story of a world that is deleted."""
    delete_tasks(connection, _TABLE.c.world_id == world_id)


def _read_change_values(change: Change) -> dict[str, object]:
    names = ("context", "state", "ended", "worker", "body", "world_id")
    return {name: getattr(change, name) for name in names}


def _round_current_time() -> float:
    """Returns the time in Unix seconds, in whole milliseconds: a page of tasks goes on after an exact moment."""
    return round(time.time() * 1000) / 1000
