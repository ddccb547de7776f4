"""The worlds of a user, with their stories, lorebooks and everything that was noticed about them."""

from __future__ import annotations

import re
import time
import uuid
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from errors import Empty, StoreUnavailable, TooLong
from store.database import schema
from store.database import world_table as table
from store.owner import build_owner_condition, key_of, owner_of_new
from store.record import Session
from store.session.opening import as_session
from store.session.removal import remove_session
from store.task.task import removed_of_world
from store.world import change
from store.world.curated import Curated
from store.world.lore import WorldLoreRows
from store.world.record import Alias, Changes, World
from store.world.rows import check_world, lock_world_row
from store.world.story import begin_story
from store.world.tree import COLUMNS, TOLD, as_node
from store.world.turns import StoryTurns, write_greeting
from text.clean import clean_text, collapse_spaces
from text.language import Language

NAME_CHARS = 80
TRIES = 5
_WORLD, _SESSION, _NODE = table.world.c, schema.session.c, table.node.c
_NOT_IN_SLUG = re.compile(r"[^\w]+")


class Worlds(StoryTurns, WorldLoreRows, Curated):
    """The worlds that a user has. A world of another user is unknown, also by a guessed id."""

    def all(self) -> list[World]:
        """Returns all worlds, the one that was played last first."""
        with self._transaction() as connection:
            query = (
                select(table.world)
                .where(build_owner_condition(connection, _WORLD.owner))
                .order_by(_WORLD.updated.desc(), _WORLD.id)
            )
            return [_build_world(row) for row in connection.execute(query)]

    def world(self, world_id: str) -> World:
        """Returns a world. Raises ``WorldUnknown``."""
        with self._transaction() as connection:
            check_world(connection, world_id)
            return _build_world(connection.execute(select(table.world).where(_WORLD.id == world_id)).one())

    def by_slug(self, slug: str) -> World | None:
        """Returns the world with this short name, or None."""
        with self._transaction() as connection:
            query = select(table.world).where(_WORLD.slug == slug, build_owner_condition(connection, _WORLD.owner))
            row = connection.execute(query).first()
            return _build_world(row) if row is not None else None

    def create(self, name: str, language: Language, player: str = "") -> World:
        """Creates an empty world of the store's user, with a story that has not begun. Raises ``Empty`` for a blank
        name, ``TooLong``."""
        name, player = clean_name(name), clean_name(player, blank=True) or DEFAULT_PLAYER[language]
        for attempt in range(TRIES):
            try:
                with self._transaction() as connection:
                    world = self.create_in(connection, name, language, player)
                    begin_story(connection, world.id)
                    return world
            except StoreUnavailable:  # another process has taken the short name just now
                if attempt == TRIES - 1:
                    raise
        raise AssertionError("unreachable")

    def create_in(self, connection: Connection, name: str, language: Language, player: str) -> World:
        """Creates a world within a transaction, without a story."""
        owner, now = owner_of_new(connection), time.time()
        query = select(_WORLD.slug).where(_WORLD.owner == owner)
        slug = _build_slug(name, set(connection.execute(query).scalars()))
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
        return _build_world(connection.execute(select(table.world).where(_WORLD.id == row["id"])).one())

    def rename(self, world_id: str, name: str) -> None:
        """Gives a world another name, and its stories that have no title of their own; the short name stays, because
        clients use it. Raises ``Empty``, ``TooLong``, ``WorldUnknown``."""
        name = clean_name(name)
        with self._transaction() as connection:
            check_world(connection, world_id)
            before = connection.execute(select(_WORLD.name).where(_WORLD.id == world_id)).scalar_one()
            connection.execute(update(table.world).where(_WORLD.id == world_id).values(name=name))
            untitled = (schema.STORY, _SESSION.world == world_id, _SESSION.title == before)
            connection.execute(update(schema.session).where(*untitled).values(title=name))

    def stories(self, world_id: str) -> list[Session]:
        """Returns the stories of a world that were not put away, the one that was played last first. Raises
        ``WorldUnknown``."""
        with self._transaction() as connection:
            check_world(connection, world_id)
            there = (schema.STORY, _SESSION.world == world_id, _SESSION.deleted.is_(None))
            query = select(schema.session).where(*there).order_by(_SESSION.updated.desc(), _SESSION.id)
            return [as_session(row) for row in connection.execute(query)]

    def set_player(self, world_id: str, player: str) -> None:
        """Sets the name of the user's character; what turns have told of him under the earlier one is his. Raises
        ``Empty``, ``TooLong``, ``WorldUnknown``."""
        player = clean_name(player)
        with self._transaction() as connection:
            check_world(connection, world_id)
            row = connection.execute(select(_WORLD.player, _WORLD.begin).where(_WORLD.id == world_id)).one()
            begin = change.changes_of(row.begin or {})
            if player != row.player:
                begin = change.rename_person_rows(begin, (row.player,), player)
                aliases = [one for one in begin.aliases if one.name not in (row.player, player)]
                begin = replace(begin, aliases=(*aliases, Alias("person", row.player, player)))
            values = {"player": player, "begin": change.build_plain_changes(begin), "revision": _WORLD.revision + 1}
            connection.execute(update(table.world).where(_WORLD.id == world_id).values(**values))

    def begin(self, world_id: str) -> Session:
        """Begins a further story of a world, with the greetings of the first one. Raises ``WorldUnknown``."""
        with self._transaction() as connection:
            owner = check_world(connection, world_id)
            query = select(*COLUMNS).select_from(TOLD).where(_NODE.world_id == world_id, _NODE.parent == 0)
            told = [as_node(row) for row in connection.execute(query.order_by(_NODE.id))]
            session_id = begin_story(connection, world_id)
            for greeting in {node.answer: node for node in told if not node.question.strip()}.values():
                write_greeting(connection, owner, session_id, greeting)
            query = select(schema.session).where(_SESSION.id == session_id)
            return as_session(connection.execute(query).one())

    def begin_state(self, world_id: str) -> Changes:
        """Returns the changes that lead to the state before the first turn. Raises ``WorldUnknown``."""
        with self._transaction() as connection:
            check_world(connection, world_id)
            begin = connection.execute(select(_WORLD.begin).where(_WORLD.id == world_id)).scalar_one()
        return change.changes_of(begin or {})

    def set_begin_state(self, world_id: str, changes: Changes) -> None:
        """Sets the state before the first turn; it counts for stories that begin from now on, and for those that have
        begun where no turn has changed it. Raises ``WorldUnknown``."""
        self._change(world_id, begin=change.build_plain_changes(changes), revision=_WORLD.revision + 1)

    def delete(self, world_id: str) -> None:
        """Removes a world with everything that belongs to it. Raises ``WorldUnknown``."""
        with self._transaction() as connection:
            lock_world_row(connection, world_id)  # before its stories, as whoever tells a turn does
            check_world(connection, world_id)
            stories = select(_SESSION.id).where(schema.STORY, _SESSION.world == world_id)
            for session_id in connection.execute(stories).scalars().all():
                remove_session(connection, session_id)
            removed_of_world(connection, world_id)
            for rows in table.BY_WORLD:
                connection.execute(delete(rows).where(rows.c.world_id == world_id))
            connection.execute(delete(table.world).where(_WORLD.id == world_id))

    def _change(self, world_id: str, **values: Any) -> None:
        with self._transaction() as connection:
            check_world(connection, world_id)
            connection.execute(update(table.world).where(_WORLD.id == world_id).values(**values))


DEFAULT_PLAYER: dict[Language, str] = {"ko": "주인공", "en": "Player"}


def _build_world(row: Any) -> World:
    return World(**{name: row._mapping[name] for name in World.__slots__})


def clean_name(name: str, what: str = "name", *, blank: bool = False) -> str:
    """Returns a name on one line. Raises ``Empty``, ``TooLong``, which say of ``what`` it is the name."""
    plain = collapse_spaces(clean_text(name))
    if not plain and not blank:
        raise Empty(what=what)
    if len(plain) > NAME_CHARS:
        raise TooLong(what=what, size=len(plain), limit=NAME_CHARS)
    return plain


def _build_slug(name: str, taken: set[str]) -> str:
    """Returns a short name for addresses and model names: letters, digits and hyphens of the name."""
    base = _NOT_IN_SLUG.sub("-", name.lower()).strip("-_")[:40].strip("-_") or "world"
    return next(slug for at in range(1, len(taken) + 2) if (slug := base if at == 1 else f"{base}-{at}") not in taken)
