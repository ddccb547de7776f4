"""The archive of all memories in the database: it outlives Redis's time to live, and Redis itself (design 6.3).

An erasure leaves a digest, so that neither a slow writer nor a Redis that was away can bring the memory back.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Connection, Select, Table, bindparam, delete, func, insert, literal, or_, select, text, update
from sqlalchemy.dialects import postgresql, sqlite

from memory.key import Scope
from memory.redis.address import Client
from memory.redis.redis_store import RedisStore, kept_json, memory_json, plain_kept, plain_version, turn_json
from memory.state import Entity, MemoryTurn, State, Version
from store import Store
from store.database import memory_table as table
from store.database.engine import alone, purge, translated, where_is
from store.database.schema import metadata

OF_OTHERS = ("withdraw", "settle")
"""Kinds of queued changes that alter the memories of other sessions instead of their own session's."""
ERASING = 0x6572617365
"""Key of the advisory lock that keeps a slow writer from bringing back what is being erased."""
_LEFT = select(table.session.c.session).where(
    table.session.c.tenant == bindparam("of"),
    table.session.c.user == bindparam("by"),
    table.session.c.waiting > 0,
    table.session.c.updated < bindparam("before"),
)


@dataclass(frozen=True, slots=True)
class Queued:
    """A change that waits for Redis: ``kind`` is turn, remember, forget, skip, apart, or one of ``OF_OTHERS``."""

    id: int
    scope: Scope
    user: str
    kind: str
    data: dict[str, Any]


class Archive:
    """The states, versions and queued changes of all memories, in the database."""

    def __init__(self, store: Store) -> None:
        self._transaction, self._engine = store.transaction, store.engine
        with translated(where_is(store.engine.url)), alone(store.engine):
            metadata.create_all(store.engine, tables=table.TABLES)

    # --- states and versions --------------------------------------------------------------------

    def save(self, scope: Scope, state: State, versions: Sequence[Version], user: str) -> None:
        """Saves this state and new versions; ignores an older revision, and a memory erased since."""
        row = {
            "tenant": scope.tenant,
            "session": scope.session,
            "user": user,
            "state": plain(state),
            "revision": state.revision,
            "waiting": state.owed,
            "updated": time.time(),
        }
        with self._beside_no_erasure() as connection:
            if self._erased_after(connection, scope, state.created):
                return
            statement = _insert(connection, table.session).values(scope=scope.tag, **row)
            newer = table.session.c.revision < state.revision
            statement = statement.on_conflict_do_update(index_elements=["scope"], set_=row, where=newer)
            if not connection.execute(statement).rowcount:
                return
            self._add_versions(connection, scope, state, versions)

    def load(self, scope: Scope) -> tuple[State, tuple[Version, ...]] | None:
        """Returns the newest saved state with its versions, or None."""
        with self._transaction() as connection:
            query = select(table.session.c.state).where(table.session.c.scope == scope.tag)
            state = connection.execute(query).scalar_one_or_none()
            return (read(state), self._versions(connection, scope)) if state is not None else None

    def restore(self, client: Client, redis: RedisStore, scope: Scope) -> bool:
        """Writes a memory that Redis no longer has from here to Redis; returns False when there is none.

        What is erased meanwhile does not come back with it.
        """
        if (saved := self.load(scope)) is None:
            return False
        redis.restore(client, scope, *saved)
        with self._transaction() as connection:
            query = select(table.erased.c.created).where(table.erased.c.digest == _digest(scope.tag))
            at = connection.execute(query).scalar_one_or_none()
        if at is not None:
            redis.erase_if_older(client, scope.tag, at)
        return True

    def versions(self, scope: Scope, undone: bool = False) -> tuple[Version, ...]:
        """Returns all versions, oldest first; undone ones only with ``undone``."""
        with self._transaction() as connection:
            return self._versions(connection, scope, undone)

    def scopes(self, tenant: str | None = None, user: str | None = None) -> list[tuple[Scope, str, int, int, float]]:
        """Returns all memories, or one user's: scope, user, revision, owed work (``State.owed``), time of the last
        change.

        Memories without a saved state, which only wait in the queue, come last.
        """
        row = table.session.c
        query = select(row.tenant, row.session, row.user, row.revision, row.waiting, row.updated)
        if tenant is not None:
            query = query.where(row.tenant == tenant)
        if user is not None:
            query = query.where(row.user == user)
        with self._transaction() as connection:
            rows = [*connection.execute(query.order_by(row.updated)), *connection.execute(_waiting(tenant, user))]
        return [
            (Scope(tenant, session, "" if session else user), user, revision, waiting, updated)
            for tenant, session, user, revision, waiting, updated in rows
        ]

    def waiting(self, tenant: str, user: str, most: int) -> list[State]:
        """Returns the states of the ``most`` newest sessions of a user that owe work (``State.owed``), oldest first."""
        row = table.session.c
        query = select(row.state).where(row.tenant == tenant, row.user == user, row.waiting > 0, row.session != "")
        with self._transaction() as connection:
            states = connection.execute(query.order_by(row.updated.desc()).limit(most)).scalars()
            return [read(data) for data in reversed([*states])]

    def left(self, tenant: str, user: str, before: float) -> list[str]:
        """Returns a user's sessions that owe work (``State.owed``), last changed before this time (Unix seconds)."""
        with self._transaction() as connection:
            return list(connection.execute(_LEFT, {"of": tenant, "by": user, "before": before}).scalars())

    # --- memory texts in past prompts -----------------------------------------------------------

    def give(self, scope: Scope, texts: Mapping[str, str], since: float) -> None:
        """Saves the texts that a prompt gets of a memory, by their marks, unless anything was erased since the prompt
        read them (``since``, Unix seconds)."""
        with self._beside_no_erasure() as connection:
            if (connection.execute(select(func.max(table.erased.c.created))).scalar() or 0.0) >= since:
                return
            for mark, given in texts.items():
                statement = _insert(connection, table.given).values(scope=scope.tag, mark=mark, text=given)
                connection.execute(statement.on_conflict_do_nothing())

    def given(self, scope: Scope) -> dict[str, str]:
        """Returns the texts that past prompts got of this memory, by mark."""
        with self._transaction() as connection:
            query = select(table.given.c.mark, table.given.c.text).where(table.given.c.scope == scope.tag)
            return {row.mark: row.text for row in connection.execute(query)}

    def copy_given(self, scope: Scope, copy: Scope) -> None:
        """Copies these texts for the copy of a conversation."""
        row = table.given.c
        rows = select(literal(copy.tag), row.mark, row.text).where(row.scope == scope.tag)
        with self._transaction() as connection:
            connection.execute(insert(table.given).from_select(["scope", "mark", "text"], rows))

    def drop_given(self, scope: Scope) -> None:
        """Deletes these texts after something was forgotten, so that past prompts no longer show it."""
        with self._transaction() as connection:
            connection.execute(delete(table.given).where(table.given.c.scope == scope.tag))

    # --- changes that wait for Redis ------------------------------------------------------------

    def queue(self, scope: Scope, user: str, kind: str, data: dict[str, Any]) -> None:
        """Queues a change until Redis is back."""
        row = {"scope": scope.tag, "tenant": scope.tenant, "session": scope.session, "user": user}
        with self._transaction() as connection:
            connection.execute(insert(table.queue), {**row, "kind": kind, "data": data, "created": time.time()})

    def drop_queued(self, tenant: str, user: str) -> None:
        """Deletes all queued changes of this user, and everything withheld that could be put back."""
        row = table.queue.c
        with self._transaction() as connection:
            connection.execute(delete(table.queue).where(row.tenant == tenant, row.user == user))
            taken = table.withheld.c
            back = (taken.tenant == tenant, taken.user == user, taken.memory != "")
            connection.execute(delete(table.withheld).where(*back))

    def queued(self, scope: Scope | None = None, limit: int = 1000) -> list[Queued]:
        """Returns the queued changes of all memories or of one, oldest first."""
        row = table.queue.c
        query = select(row.id, row.tenant, row.session, row.user, row.kind, row.data).order_by(row.id).limit(limit)
        if scope is not None:
            query = query.where(row.scope == scope.tag)
        with self._transaction() as connection:
            rows = connection.execute(query).all()
        return [Queued(item.id, Scope(item.tenant, item.session), item.user, item.kind, item.data) for item in rows]

    def done(self, queued: Queued) -> None:
        """Deletes a queued change after it was written to Redis."""
        with self._transaction() as connection:
            connection.execute(delete(table.queue).where(table.queue.c.id == queued.id))

    # --- content withheld for deleted sessions --------------------------------------------------

    def answer(self, connection: Connection, scope: Scope, user: str, forget: bool | None) -> None:
        """Saves whether to forget what only this session told, as its conversation is deleted; None: it is restored.

        Runs within the transaction that deletes or restores; queues the remaining work (``withdraw.settle``) for Redis.
        """
        row = table.withheld.c
        connection.execute(delete(table.withheld).where(row.scope == scope.tag, row.memory == ""))
        names = {"scope": scope.tag, "tenant": scope.tenant, "session": scope.session, "user": user}
        if forget is not None:
            connection.execute(insert(table.withheld), {**names, "memory": "", "other": "", "data": forget})
        waiting = {**names, "kind": "settle", "data": {}, "created": time.time()}
        connection.execute(insert(table.queue), waiting)

    def forgets(self, scope: Scope) -> bool | None:
        """Returns the answer given when this session was deleted; None when nobody was asked or it is not deleted."""
        row = table.withheld.c
        with self._transaction() as connection:
            query = select(row.data).where(row.scope == scope.tag, row.memory == "")
            return connection.execute(query).scalar_one_or_none()

    def withhold(self, scope: Scope, memory: Scope, user: str, taken: Mapping[str, Any]) -> None:
        """Saves what was taken out of a memory because only this session told it."""
        names = {"tenant": scope.tenant, "user": user, "session": scope.session, "other": memory.session}
        row = {**names, "scope": scope.tag, "memory": memory.tag, "data": dict(taken)}
        with self._transaction() as connection:
            statement = _insert(connection, table.withheld).values(**row)
            statement = statement.on_conflict_do_update(index_elements=["scope", "memory"], set_={"data": row["data"]})
            connection.execute(statement)

    def taken(self, scope: Scope, memory: Scope) -> dict[str, Any]:
        """Returns what was taken out of one memory because of this session."""
        row = table.withheld.c
        with self._transaction() as connection:
            query = select(row.data).where(row.scope == scope.tag, row.memory == memory.tag)
            return connection.execute(query).scalar_one_or_none() or {}

    def withheld(self, tenant: str, user: str) -> list[tuple[Scope, Scope, dict[str, Any]]]:
        """Returns everything taken out of a user's memories: the session that caused it, the memory, the content."""
        row = table.withheld.c
        query = select(row.session, row.other, row.data).where(row.tenant == tenant, row.user == user)
        with self._transaction() as connection:
            rows = connection.execute(query.where(row.memory != "")).all()
        return [
            (Scope(tenant, item.session), Scope(tenant, item.other, "" if item.other else user), item.data)
            for item in rows
        ]

    def release(self, scope: Scope) -> None:
        """Deletes everything withheld because of this session, once it is back in its memories."""
        row = table.withheld.c
        with self._transaction() as connection:
            connection.execute(delete(table.withheld).where(row.scope == scope.tag, row.memory != ""))

    def rewrite(self, scope: Scope, new: Callable[[Version], Version]) -> None:
        """Replaces each saved version of a memory by ``new(version)``, also the undone ones."""
        row = table.version.c
        with self._transaction() as connection:
            for saved in connection.execute(select(row.id, row.data).where(row.scope == scope.tag)).all():
                version = plain_version(saved.data)
                if (after := new(version)) != version:
                    change = update(table.version).where(row.id == saved.id)
                    connection.execute(change.values(data=asdict(after)))

    # --- erasing --------------------------------------------------------------------------------

    def erase(self, scope: Scope) -> None:
        """Deletes all rows of a memory and saves its digest; ``purge`` then clears the files.

        Keeps queued changes with which an earlier erasure takes content out of other memories (``withdraw``).
        """
        with self._beside_no_erasure(erase=True) as connection:
            for source in (table.session, table.version, table.given, table.withheld):
                connection.execute(delete(source).where(source.c.scope == scope.tag))
            connection.execute(delete(table.withheld).where(table.withheld.c.memory == scope.tag))
            waiting = table.queue.c
            connection.execute(delete(table.queue).where(waiting.scope == scope.tag, waiting.kind != "withdraw"))
            mark = _insert(connection, table.erased).values(digest=_digest(scope.tag), created=time.time())
            connection.execute(mark.on_conflict_do_update(index_elements=["digest"], set_={"created": time.time()}))

    def purge(self) -> None:
        """Removes deleted rows from the database's files, too (``store.database.engine.purge``)."""
        purge(self._engine)

    def erase_given(self, tenant: str, user: str) -> None:
        """Deletes the texts that past prompts got of memories, except those of other users: an erased memory of this
        user had left content in its other memories."""
        row = table.session.c
        others = select(row.scope).where(or_(row.tenant != tenant, row.user != user))
        with self._transaction() as connection:
            connection.execute(delete(table.given).where(table.given.c.scope.not_in(others)))

    def erased(self, tags: Iterable[str]) -> dict[str, float]:
        """Returns which of these tags were erased, with the time of the erasure."""
        digests = {_digest(tag): tag for tag in tags}
        with self._transaction() as connection:
            rows = connection.execute(select(table.erased.c.digest, table.erased.c.created)).all()
        return {digests[digest]: created for digest, created in rows if digest in digests}

    def forget_erased(self, before: float) -> int:
        """Deletes digests older than this time; returns how many."""
        with self._transaction() as connection:
            return connection.execute(delete(table.erased).where(table.erased.c.created < before)).rowcount

    @contextmanager
    def _beside_no_erasure(self, erase: bool = False) -> Iterator[Connection]:
        """Opens a transaction in which nothing is erased between the look for an erasure and the write.

        ``erase``: the transaction erases, itself. SQLite has one writer at a time; PostgreSQL takes an advisory lock,
        which an erasure has alone.
        """
        with self._transaction() as connection:
            if connection.dialect.name == "postgresql":
                kind = "" if erase else "_shared"
                connection.execute(text(f"SELECT pg_advisory_xact_lock{kind}(:key)"), {"key": ERASING})
            else:
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            yield connection

    def _erased_after(self, connection: Connection, scope: Scope, created: float) -> bool:
        query = select(table.erased.c.created).where(table.erased.c.digest == _digest(scope.tag))
        at = connection.execute(query).scalar_one_or_none()
        return at is not None and at >= created

    def _add_versions(self, connection: Connection, scope: Scope, state: State, versions: Sequence[Version]) -> None:
        """Saves new versions; marks saved versions that no longer follow the chain as undone."""
        row = table.version.c
        newer = (row.scope == scope.tag, row.number > state.version, row.undone.is_(False))
        connection.execute(update(table.version).where(*newer).values(undone=True))
        for version in versions:
            same = (row.scope == scope.tag, row.number == version.number)
            known = connection.execute(select(row.created).where(*same, row.undone.is_(False))).scalar_one_or_none()
            if known == version.created:
                continue
            connection.execute(update(table.version).where(*same).values(undone=True))
            values = {"number": version.number, "created": version.created, "data": asdict(version), "undone": False}
            statement = _insert(connection, table.version).values(scope=scope.tag, **values)
            connection.execute(statement.on_conflict_do_nothing())

    def _versions(self, connection: Connection, scope: Scope, undone: bool = False) -> tuple[Version, ...]:
        row = table.version.c
        query = select(row.data).where(row.scope == scope.tag).order_by(row.number, row.id)
        query = query if undone else query.where(row.undone.is_(False))
        return tuple(plain_version(data) for data in connection.execute(query).scalars())

    def counts(self) -> dict[str, int]:
        """Returns the number of rows by table, for the command line."""
        with self._transaction() as connection:
            return {
                source.name: connection.execute(select(func.count()).select_from(source)).scalar_one()
                for source in table.TABLES
            }


def _waiting(tenant: str | None, user: str | None) -> Select[Any]:
    """Returns the query for memories that are only in the queue, as rows of ``Archive.scopes``."""
    row = table.queue.c
    saved = select(table.session.c.scope)
    query = select(row.tenant, row.session, row.user, literal(0), literal(0), func.max(row.created))
    query = query.where(row.kind.not_in(OF_OTHERS), row.scope.not_in(saved))
    if tenant is not None:
        query = query.where(row.tenant == tenant)
    if user is not None:
        query = query.where(row.user == user)
    return query.group_by(row.tenant, row.session, row.user)


def plain(state: State) -> dict[str, Any]:
    """Returns a state as plain data, in the form of its keys."""
    return {
        "short": [turn_json(turn) for turn in state.short],
        "memory": memory_json(state),
        "entities": [asdict(entity) for entity in state.entities],
        "meta": kept_json(state),
        "revision": state.revision,
    }


def read(data: dict[str, Any]) -> State:
    """Returns the state that ``plain`` wrote."""
    content = data["memory"]
    return State(
        revision=data["revision"],
        text=content["memory"],
        version=content["version"],
        updated=content["updated"],
        entities=tuple(Entity(**item) for item in data["entities"]),
        short=tuple(
            MemoryTurn(item["turn"], item["question"], item["answer"], item.get("tools", "")) for item in data["short"]
        ),
        **plain_kept(data["meta"]),
    )


def _insert(connection: Connection, into: Table) -> Any:
    """Returns an insert that handles conflicts: SQLAlchemy has one class for each of the two databases."""
    return (postgresql if connection.dialect.name == "postgresql" else sqlite).insert(into)


def _digest(tag: str) -> str:
    return hashlib.sha256(tag.encode("utf-8", "surrogatepass")).hexdigest()
