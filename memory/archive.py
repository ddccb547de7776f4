"""The archive of all memories in the database: it outlives Redis's time to live, and Redis itself (design §6).

What is erased leaves a digest, so that neither a slow writer nor a Redis that was away can bring it back.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Connection, Select, Table, bindparam, delete, func, insert, literal, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from memory.key import Scope
from memory.state import Entity, State, Turn, Version
from memory.store import kept_json, memory_json, plain_kept, plain_version, turn_json
from store import Store
from store import memory as table
from store.database import alone, purge, translated
from store.schema import metadata

_LEFT = select(table.session.c.session).where(
    table.session.c.tenant == bindparam("of"),
    table.session.c.user == bindparam("by"),
    table.session.c.waiting > 0,
    table.session.c.updated < bindparam("before"),
)


@dataclass(frozen=True, slots=True)
class Queued:
    """Something that waits for Redis: ``kind`` is turn, remember, forget, skip or withdraw."""

    id: int
    scope: Scope
    user: str
    kind: str
    data: dict[str, Any]


class Archive:
    """States, versions and the queue of all memories."""

    def __init__(self, store: Store) -> None:
        self._transaction, self._engine = store.transaction, store.engine
        with translated(store.engine.url.render_as_string(hide_password=True)), alone(store.engine):
            metadata.create_all(store.engine, tables=table.TABLES)

    # --- states and versions --------------------------------------------------------------------

    def save(self, scope: Scope, state: State, versions: Sequence[Version], user: str) -> None:
        """Keep this state and the versions that are not kept yet; an older revision or an erased one is not kept."""
        row = {
            "tenant": scope.tenant,
            "session": scope.session,
            "user": user,
            "state": plain(state),
            "revision": state.revision,
            "waiting": state.owed,
            "updated": time.time(),
        }
        with self._transaction() as connection:
            if self._erased_after(connection, scope, state.created):
                return
            statement = _insert(connection, table.session).values(scope=scope.tag, **row)
            newer = table.session.c.revision < state.revision
            statement = statement.on_conflict_do_update(index_elements=["scope"], set_=row, where=newer)
            if not connection.execute(statement).rowcount:
                return
            self._add_versions(connection, scope, state, versions)

    def load(self, scope: Scope) -> tuple[State, tuple[Version, ...]] | None:
        """The newest state that is kept, and the versions up to it."""
        with self._transaction() as connection:
            found = select(table.session.c.state).where(table.session.c.scope == scope.tag)
            state = connection.execute(found).scalar_one_or_none()
            return (read(state), self._versions(connection, scope)) if state is not None else None

    def versions(self, scope: Scope, undone: bool = False) -> tuple[Version, ...]:
        """All versions, oldest first; those that were undone only when asked for."""
        with self._transaction() as connection:
            return self._versions(connection, scope, undone)

    def scopes(self, tenant: str | None = None, user: str | None = None) -> list[tuple[Scope, str, int, int, float]]:
        """All memories, of one user when asked: scope, user, revision, what it owes, last change.

        Those that are not in any state yet, but only wait for Redis, come last.
        """
        row = table.session.c
        wanted = select(row.tenant, row.session, row.user, row.revision, row.waiting, row.updated)
        if tenant is not None:
            wanted = wanted.where(row.tenant == tenant)
        if user is not None:
            wanted = wanted.where(row.user == user)
        with self._transaction() as connection:
            rows = [*connection.execute(wanted.order_by(row.updated)), *connection.execute(_waiting(tenant, user))]
        return [
            (Scope(tenant, session, "" if session else user), user, revision, waiting, updated)
            for tenant, session, user, revision, waiting, updated in rows
        ]

    def waiting(self, tenant: str, user: str, most: int) -> list[State]:
        """What a user's sessions hold that owe something (``State.owed``), of the newest ones, the last one last."""
        row = table.session.c
        wanted = select(row.state).where(row.tenant == tenant, row.user == user, row.waiting > 0, row.session != "")
        with self._transaction() as connection:
            found = connection.execute(wanted.order_by(row.updated.desc()).limit(most)).scalars()
            return [read(each) for each in reversed([*found])]

    def left(self, tenant: str, user: str, before: float) -> list[str]:
        """Sessions of a user that owe something (``State.owed``), last changed before this moment (Unix seconds)."""
        with self._transaction() as connection:
            return list(connection.execute(_LEFT, {"of": tenant, "by": user, "before": before}).scalars())

    # --- what prompts were given ----------------------------------------------------------------

    def give(self, scope: Scope, texts: Mapping[str, str], since: float) -> None:
        """Keep what a prompt is given of a memory, by its marks; not when anything was erased since it was read
        (``since``, Unix seconds)."""
        with self._transaction() as connection:
            if (connection.execute(select(func.max(table.erased.c.created))).scalar() or 0.0) >= since:
                return
            for mark, text in texts.items():
                statement = _insert(connection, table.given).values(scope=scope.tag, mark=mark, text=text)
                connection.execute(statement.on_conflict_do_nothing())

    def given(self, scope: Scope) -> dict[str, str]:
        """What prompts were given of this memory, by mark."""
        with self._transaction() as connection:
            wanted = select(table.given.c.mark, table.given.c.text).where(table.given.c.scope == scope.tag)
            return {row.mark: row.text for row in connection.execute(wanted)}

    def copy_given(self, scope: Scope, copy: Scope) -> None:
        """The same for the copy of a conversation."""
        row = table.given.c
        rows = select(literal(copy.tag), row.mark, row.text).where(row.scope == scope.tag)
        with self._transaction() as connection:
            connection.execute(insert(table.given).from_select(["scope", "mark", "text"], rows))

    def drop_given(self, scope: Scope) -> None:
        """Something of it was forgotten: past prompts are not shown with it any more."""
        with self._transaction() as connection:
            connection.execute(delete(table.given).where(table.given.c.scope == scope.tag))

    # --- what waits for Redis -------------------------------------------------------------------

    def queue(self, scope: Scope, user: str, kind: str, data: dict[str, Any]) -> None:
        """Keep something until Redis is back."""
        row = {"scope": scope.tag, "tenant": scope.tenant, "session": scope.session, "user": user}
        with self._transaction() as connection:
            connection.execute(insert(table.queue), {**row, "kind": kind, "data": data, "created": time.time()})

    def drop_queued(self, tenant: str, user: str) -> None:
        """Nothing of this user's waits any more."""
        row = table.queue.c
        with self._transaction() as connection:
            connection.execute(delete(table.queue).where(row.tenant == tenant, row.user == user))

    def queued(self, scope: Scope | None = None, limit: int = 1000) -> list[Queued]:
        """What waits, of all memories or of one, oldest first."""
        row = table.queue.c
        wanted = select(row.id, row.tenant, row.session, row.user, row.kind, row.data).order_by(row.id).limit(limit)
        if scope is not None:
            wanted = wanted.where(row.scope == scope.tag)
        with self._transaction() as connection:
            rows = connection.execute(wanted).all()
        return [Queued(each.id, Scope(each.tenant, each.session), each.user, each.kind, each.data) for each in rows]

    def done(self, queued: Queued) -> None:
        """It is in Redis by now."""
        with self._transaction() as connection:
            connection.execute(delete(table.queue).where(table.queue.c.id == queued.id))

    # --- erasing --------------------------------------------------------------------------------

    def erase(self, scope: Scope) -> None:
        """Remove all rows of a memory, and note its digest; ``purge`` then clears the files.

        What an earlier erasure has still to take out of other memories (``withdraw``) waits on.
        """
        with self._transaction() as connection:
            for each in (table.session, table.version, table.given):
                connection.execute(delete(each).where(each.c.scope == scope.tag))
            waiting = table.queue.c
            connection.execute(delete(table.queue).where(waiting.scope == scope.tag, waiting.kind != "withdraw"))
            mark = _insert(connection, table.erased).values(digest=_digest(scope.tag), created=time.time())
            connection.execute(mark.on_conflict_do_update(index_elements=["digest"], set_={"created": time.time()}))

    def purge(self) -> None:
        """Have what was deleted leave the database's files, too (``store.database.purge``)."""
        purge(self._engine)

    def erase_versions(self, scope: Scope) -> None:
        """Remove the versions of a memory; its state stays."""
        with self._transaction() as connection:
            connection.execute(delete(table.version).where(table.version.c.scope == scope.tag))

    def erase_given(self, tenant: str, user: str) -> None:
        """Remove what prompts were given of memories, all but those of other users: one of this user's was erased, and
        had left something in others."""
        row = table.session.c
        others = select(row.scope).where(or_(row.tenant != tenant, row.user != user))
        with self._transaction() as connection:
            connection.execute(delete(table.given).where(table.given.c.scope.not_in(others)))

    def erased(self, tags: Iterable[str]) -> dict[str, float]:
        """Which of these tags were erased, and when."""
        digests = {_digest(tag): tag for tag in tags}
        with self._transaction() as connection:
            rows = connection.execute(select(table.erased.c.digest, table.erased.c.created)).all()
        return {digests[digest]: created for digest, created in rows if digest in digests}

    def forget_erased(self, before: float) -> int:
        """Drop digests older than this time; returns how many."""
        with self._transaction() as connection:
            return connection.execute(delete(table.erased).where(table.erased.c.created < before)).rowcount

    def _erased_after(self, connection: Connection, scope: Scope, created: float) -> bool:
        wanted = select(table.erased.c.created).where(table.erased.c.digest == _digest(scope.tag))
        at = connection.execute(wanted).scalar_one_or_none()
        return at is not None and at >= created

    def _add_versions(self, connection: Connection, scope: Scope, state: State, versions: Sequence[Version]) -> None:
        """New versions come in; kept ones that are not in the chain any more were undone."""
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
        wanted = select(row.data).where(row.scope == scope.tag).order_by(row.number, row.id)
        wanted = wanted if undone else wanted.where(row.undone.is_(False))
        return tuple(plain_version(data) for data in connection.execute(wanted).scalars())

    def counts(self) -> dict[str, int]:
        """Rows by table, for the command line."""
        with self._transaction() as connection:
            return {
                each.name: connection.execute(select(func.count()).select_from(each)).scalar_one()
                for each in table.TABLES
            }


def _waiting(tenant: str | None, user: str | None) -> Select[Any]:
    """Memories that are in the queue and nowhere else, as rows of ``Archive.scopes``."""
    row = table.queue.c
    kept = select(table.session.c.scope)
    wanted = select(row.tenant, row.session, row.user, literal(0), literal(0), func.max(row.created))
    wanted = wanted.where(row.kind != "withdraw", row.scope.not_in(kept))
    if tenant is not None:
        wanted = wanted.where(row.tenant == tenant)
    if user is not None:
        wanted = wanted.where(row.user == user)
    return wanted.group_by(row.tenant, row.session, row.user)


def plain(state: State) -> dict[str, Any]:
    """A state as plain data, in the forms of its keys."""
    return {
        "short": [turn_json(turn) for turn in state.short],
        "memory": memory_json(state),
        "entities": [asdict(each) for each in state.entities],
        "meta": kept_json(state),
        "revision": state.revision,
    }


def read(data: dict[str, Any]) -> State:
    """The reverse of ``plain``."""
    held = data["memory"]
    return State(
        revision=data["revision"],
        text=held["memory"],
        version=held["version"],
        updated=held["updated"],
        entities=tuple(Entity(**each) for each in data["entities"]),
        short=tuple(
            Turn(each["turn"], each["question"], each["answer"], each.get("tools", "")) for each in data["short"]
        ),
        **plain_kept(data["meta"]),
    )


def _insert(connection: Connection, into: Table) -> Any:
    """An insert that knows conflicts: both databases spell it alike, and SQLAlchemy does not."""
    return (postgresql if connection.dialect.name == "postgresql" else sqlite).insert(into)


def _digest(tag: str) -> str:
    return hashlib.sha256(tag.encode("utf-8", "surrogatepass")).hexdigest()
