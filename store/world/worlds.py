"""The worlds of a user, with their stories, lorebooks and everything that was noticed about them."""

from __future__ import annotations

import re
import time
import uuid
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from errors import Empty, StoreUnavailable, TooLong
from store.database import world_table as table
from store.history import drop_marks
from store.owner import key_of, mine, owner_of_new
from store.task import removed_of_world
from store.world import change
from store.world.curated import Curated
from store.world.lore import LoreRows
from store.world.record import Changes, World
from store.world.rows import check_world
from store.world.turns import Turns
from text.clean import clean
from text.language import Language

NAME_CHARS = 80
TRIES = 5
_WORLD = table.world.c
_NOT_IN_SLUG = re.compile(r"[^\w]+")


class Worlds(Turns, LoreRows, Curated):
    """The worlds that a user has. A world of another user is unknown, also by a guessed id."""

    def all(self) -> list[World]:
        """Returns all worlds, the one that was played last first."""
        with self._transaction() as connection:
            query = select(table.world).where(mine(connection, _WORLD.owner)).order_by(_WORLD.updated.desc(), _WORLD.id)
            return [_world(row) for row in connection.execute(query)]

    def world(self, world_id: str) -> World:
        """Returns a world. Raises ``WorldUnknown``."""
        with self._transaction() as connection:
            check_world(connection, world_id)
            return _world(connection.execute(select(table.world).where(_WORLD.id == world_id)).one())

    def by_slug(self, slug: str) -> World | None:
        """Returns the world with this short name, or None."""
        with self._transaction() as connection:
            query = select(table.world).where(_WORLD.slug == slug, mine(connection, _WORLD.owner))
            row = connection.execute(query).first()
            return _world(row) if row is not None else None

    def create(self, name: str, language: Language, player: str = "") -> World:
        """Creates an empty world of the store's user. Raises ``Empty`` for a blank name, ``TooLong``."""
        name, player = _named(name), _named(player, blank=True) or DEFAULT_PLAYER[language]
        for attempt in range(TRIES):
            try:
                with self._transaction() as connection:
                    return self._created(connection, name, language, player)
            except StoreUnavailable:  # another process has taken the short name just now
                if attempt == TRIES - 1:
                    raise
        raise AssertionError("unreachable")

    def _created(self, connection: Connection, name: str, language: Language, player: str) -> World:
        owner, now = owner_of_new(connection), time.time()
        query = select(_WORLD.slug).where(_WORLD.owner == owner)
        slug = _slug(name, set(connection.execute(query).scalars()))
        row: dict[str, Any] = {
            "id": uuid.uuid4().hex[:16],
            "owner": owner,
            "name": name,
            "slug": slug,
            "language": language,
            "api_key": key_of(connection),
        }
        row |= {"player": player, "begin": None, "revision": 0, "created": now, "updated": now}
        connection.execute(insert(table.world), row)
        return _world(connection.execute(select(table.world).where(_WORLD.id == row["id"])).one())

    def rename(self, world_id: str, name: str) -> None:
        """Gives a world another name; the short name stays, because clients use it. Raises ``Empty``, ``TooLong``,
        ``WorldUnknown``."""
        self._change(world_id, name=_named(name))

    def set_player(self, world_id: str, player: str) -> None:
        """Sets the name of the user's character, for turns to come. Raises ``Empty``, ``TooLong``, ``WorldUnknown``."""
        self._change(world_id, player=_named(player), revision=_WORLD.revision + 1)

    def begin_state(self, world_id: str) -> Changes:
        """Returns the changes that lead to the state before the first turn. Raises ``WorldUnknown``."""
        with self._transaction() as connection:
            check_world(connection, world_id)
            begin = connection.execute(select(_WORLD.begin).where(_WORLD.id == world_id)).scalar_one()
        return change.changes_of(begin or {})

    def set_begin_state(self, world_id: str, changes: Changes) -> None:
        """Sets the state before the first turn; it counts for stories that begin from now on, and for those that have
        begun where no turn has changed it. Raises ``WorldUnknown``."""
        self._change(world_id, begin=change.plain(changes), revision=_WORLD.revision + 1)

    def delete(self, world_id: str) -> None:
        """Removes a world with everything that belongs to it. Raises ``WorldUnknown``."""
        with self._transaction() as connection:
            check_world(connection, world_id)
            inside = select(table.node.c.id).where(table.node.c.world_id == world_id)
            for rows in table.BY_NODE:
                connection.execute(delete(rows).where(rows.c.node.in_(inside)))
            drop_marks(connection, world_id)
            removed_of_world(connection, world_id)
            for rows in table.BY_WORLD:
                connection.execute(delete(rows).where(rows.c.world_id == world_id))
            connection.execute(delete(table.world).where(_WORLD.id == world_id))

    def _change(self, world_id: str, **values: Any) -> None:
        with self._transaction() as connection:
            check_world(connection, world_id)
            connection.execute(update(table.world).where(_WORLD.id == world_id).values(**values))


DEFAULT_PLAYER: dict[Language, str] = {"ko": "주인공", "en": "Player"}


def _world(row: Any) -> World:
    return World(**{name: row._mapping[name] for name in World.__slots__})


def _named(name: str, *, blank: bool = False) -> str:
    """Returns a name on one line. Raises ``Empty``, ``TooLong``."""
    plain = " ".join(clean(name).split())
    if not plain and not blank:
        raise Empty(what="name")
    if len(plain) > NAME_CHARS:
        raise TooLong(what="name", size=len(plain), limit=NAME_CHARS)
    return plain


def _slug(name: str, taken: set[str]) -> str:
    """Returns a short name for addresses and model names: letters, digits and hyphens of the name."""
    base = _NOT_IN_SLUG.sub("-", name.lower()).strip("-_")[:40].strip("-_") or "world"
    return next(slug for at in range(1, len(taken) + 2) if (slug := base if at == 1 else f"{base}-{at}") not in taken)
