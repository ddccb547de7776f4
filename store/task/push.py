"""Addresses that are told of a task's changes, and what they were not told yet, through a restart."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, select, update

from store.database import task_table
from store.owner import build_owner_condition, owner_of_new

_PUSH, _REST, _TASK = task_table.push, task_table.undelivered, task_table.task


@dataclass(frozen=True, slots=True)
class Push:
    """An address. ``form``: the generation of the protocol that it expects; ``body``: its settings in the protocol's
    form."""

    task_id: str
    id: str
    owner: str
    form: str
    body: bytes


@dataclass(frozen=True, slots=True)
class UndeliveredPush:
    """A message that an address did not get yet. ``tries``: how often it was tried; ``created``: Unix seconds."""

    id: int
    task_id: str
    push_id: str
    text: str
    tries: int
    worker: str
    created: float


class Pushes:
    """The addresses of a user's tasks, or of everyone's; ``transaction`` opens a database transaction."""

    def __init__(self, transaction: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._transaction = transaction

    def put(self, task_id: str, push_id: str, form: str, body: bytes) -> None:
        """Adds an address to a task, in place of one with the same id."""
        with self._transaction() as connection:
            owner = owner_of_new(connection)
            here = (_PUSH.c.task_id == task_id, _PUSH.c.id == push_id, _PUSH.c.owner == owner)
            connection.execute(delete(_PUSH).where(*here))
            row = {"task_id": task_id, "id": push_id, "owner": owner, "form": form, "body": body}
            connection.execute(insert(_PUSH), row)

    def of(self, task_id: str) -> list[Push]:
        """Returns the addresses of a task."""
        with self._transaction() as connection:
            own = (_PUSH.c.task_id == task_id, build_owner_condition(connection, _PUSH.c.owner))
            rows = connection.execute(select(_PUSH).where(*own).order_by(_PUSH.c.id))
            return [Push(**row._mapping) for row in rows]

    def remove(self, task_id: str, push_id: str | None = None) -> None:
        """Removes an address of a task, or all; what it was not told is dropped."""
        with self._transaction() as connection:
            own = [_PUSH.c.task_id == task_id, build_owner_condition(connection, _PUSH.c.owner)]
            own += [_PUSH.c.id == push_id] if push_id is not None else []
            ids = list(connection.execute(delete(_PUSH).where(*own).returning(_PUSH.c.id)).scalars())
            connection.execute(delete(_REST).where(_REST.c.task_id == task_id, _REST.c.push_id.in_(ids)))

    # --- what is not delivered yet: the work of the process, for all users --------------------------

    def keep(self, task_id: str, push_id: str, text: str, worker: str) -> UndeliveredPush:
        """Stores a message before it is sent."""
        row = {"task_id": task_id, "push_id": push_id, "text": text, "tries": 0, "worker": worker}
        row["created"] = time.time()
        with self._transaction() as connection:
            result = connection.execute(insert(_REST), row)
        return UndeliveredPush(id=int(result.inserted_primary_key[0]), **row)  # type: ignore[index, arg-type]

    def note_failed_try(self, message_id: int, tries: int) -> None:
        """Notes a try that failed."""
        with self._transaction() as connection:
            connection.execute(update(_REST).where(_REST.c.id == message_id).values(tries=tries))

    def settle(self, message_id: int) -> None:
        """Drops a message: it was delivered, or was tried often enough."""
        with self._transaction() as connection:
            connection.execute(delete(_REST).where(_REST.c.id == message_id))

    def waiting(self) -> list[UndeliveredPush]:
        """Returns all messages that are not delivered yet, oldest first."""
        with self._transaction() as connection:
            return [UndeliveredPush(**row._mapping) for row in connection.execute(select(_REST).order_by(_REST.c.id))]

    def take(self, message_id: int, worker: str, new_worker: str) -> bool:
        """Takes over a message of a process that is gone; returns False when another process was first."""
        with self._transaction() as connection:
            own = (_REST.c.id == message_id, _REST.c.worker == worker)
            return connection.execute(update(_REST).where(*own).values(worker=new_worker)).rowcount > 0
