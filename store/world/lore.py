"""The lorebooks of worlds, and the vectors of their entries and of episodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from store.database import world_table as table
from store.world import change
from store.world.record import Episode, LoreEntry
from store.world.rows import WorldRows, check_world, revision_of

_LORE, _VECTOR, _WORLD, _NODE = table.lore.c, table.vector.c, table.world.c, table.node.c
_VECTORS = (
    select(_VECTOR.ref, _VECTOR.turn, _VECTOR.vector)
    .where(_VECTOR.world_id == bindparam("of_world"), _VECTOR.kind == bindparam("of_kind"))
    .where(_VECTOR.made_by == bindparam("by"), _VECTOR.ref > bindparam("after"))
    .order_by(_VECTOR.ref)
)
LORE = "lore"
PIECE = 500


class WorldLoreRows(WorldRows):
    """The lorebooks of a user's worlds."""

    def lore(self, world_id: str) -> list[LoreEntry]:
        """Returns all entries in the order in which they were added. Raises ``WorldUnknown``."""
        with self._transaction() as connection:
            check_world(connection, world_id)
            query = select(table.lore).where(_LORE.world_id == world_id).order_by(_LORE.id)
            return [_build_lore_entry(row) for row in connection.execute(query)]

    def put_lore(self, world_id: str, entries: Sequence[LoreEntry]) -> list[LoreEntry]:
        """Stores entries: with id 0 as new ones, else in place of the one with this id, whose vector goes. Returns them
        with their ids; an id that the world does not have becomes a new entry. Raises ``WorldUnknown``."""
        with self._transaction() as connection:
            check_world(connection, world_id)
            query = select(_LORE.id).where(_LORE.world_id == world_id)
            known = set(connection.execute(query).scalars())
            stored = [self._put(connection, world_id, entry, known) for entry in entries]
            _delete_lore_vectors(connection, world_id, [entry.id for entry in entries if entry.id in known])
            _raise_world_revision(connection, world_id)
        return stored

    def _put(self, connection: Connection, world_id: str, entry: LoreEntry, known: set[int]) -> LoreEntry:
        values = {name: getattr(entry, name) for name in LoreEntry.__slots__ if name != "id"}
        values["keys"] = list(entry.keys)
        if entry.id in known:
            own = (_LORE.id == entry.id, _LORE.world_id == world_id)
            connection.execute(update(table.lore).where(*own).values(**values))
            return entry
        new = connection.execute(insert(table.lore).returning(_LORE.id), {**values, "world_id": world_id})
        return replace(entry, id=int(new.scalar_one()))

    def remove_lore(self, world_id: str, ids: Iterable[int]) -> None:
        """Removes entries of a world. Raises ``WorldUnknown``."""
        with self._transaction() as connection:
            check_world(connection, world_id)
            wanted = list(ids)
            connection.execute(delete(table.lore).where(_LORE.world_id == world_id, _LORE.id.in_(wanted)))
            _delete_lore_vectors(connection, world_id, wanted)
            _raise_world_revision(connection, world_id)

    def revision(self, world_id: str) -> int:
        """Returns a number that rises when the lorebook or the beginning of a world changes. Raises
        ``WorldUnknown``."""
        with self._transaction() as connection:
            return revision_of(connection, world_id)

    # --- vectors --------------------------------------------------------------------------------

    def vectors(self, world_id: str, kind: str, made_by: str, after: int = 0) -> list[tuple[int, int, bytes]]:
        """Returns the vectors of a kind with ids above ``after``: id, number of the turn (0 for entries of the
        lorebook), vector as 16-bit floats. Raises ``WorldUnknown``."""
        with self._transaction() as connection:
            check_world(connection, world_id)
            values = {"of_world": world_id, "of_kind": kind, "by": made_by, "after": after}
            return [(row.ref, row.turn, row.vector) for row in connection.execute(_VECTORS, values)]

    def put_vectors(self, world_id: str, kind: str, made_by: str, rows: Sequence[tuple[int, int, bytes]]) -> None:
        """Stores vectors (``vectors``) in place of those with the same ids; one of an entry or turn that the world does
        not have is left out. Raises ``WorldUnknown``."""
        with self._transaction() as connection:
            check_world(connection, world_id)
            there = _find_present_ids(connection, world_id, kind, [row[0] for row in rows])
            wanted = [row for row in {row[0]: row for row in rows}.values() if row[0] in there]
            here = (_VECTOR.world_id == world_id, _VECTOR.kind == kind, _VECTOR.made_by == made_by)
            newest = connection.execute(select(func.max(_VECTOR.ref)).where(*here)).scalar() or 0
            for at in range(0, len(wanted), PIECE):
                ids = [row[0] for row in wanted[at : at + PIECE]]
                connection.execute(delete(table.vector).where(*here, _VECTOR.ref.in_(ids)))
            if wanted:
                frame = {"world_id": world_id, "kind": kind, "made_by": made_by}
                connection.execute(
                    insert(table.vector), [{**frame, "ref": row[0], "turn": row[1], "vector": row[2]} for row in wanted]
                )
            if kind == LORE and wanted and min(row[0] for row in wanted) <= newest:
                _raise_world_revision(connection, world_id)  # whoever reads only what is new would miss it

    def episodes(self, world_id: str, node_ids: Sequence[int]) -> dict[int, Episode]:
        """Returns the episodes of turns of a world by the turns' ids. Raises ``WorldUnknown``."""
        with self._transaction() as connection:
            check_world(connection, world_id)
            return change.episodes_of(connection, world_id, node_ids)


def _build_lore_entry(row: Any) -> LoreEntry:
    values = {name: row._mapping[name] for name in LoreEntry.__slots__}
    return LoreEntry(**{**values, "keys": tuple(values["keys"])})


def _find_present_ids(connection: Connection, world_id: str, kind: str, ids: Sequence[int]) -> set[int]:
    """Returns which of these entries or turns the world has."""
    rows = table.lore if kind == LORE else table.node
    found = set[int]()
    for at in range(0, len(ids), PIECE):
        # a condition on the world would have SQLite read all that it has
        query = select(rows.c.id, rows.c.world_id).where(rows.c.id.in_(ids[at : at + PIECE]))
        found |= {row.id for row in connection.execute(query) if row.world_id == world_id}
    return found


def _delete_lore_vectors(connection: Connection, world_id: str, ids: Sequence[int]) -> None:
    for at in range(0, len(ids), PIECE):
        own = (_VECTOR.world_id == world_id, _VECTOR.kind == LORE, _VECTOR.ref.in_(ids[at : at + PIECE]))
        connection.execute(delete(table.vector).where(*own))


def _raise_world_revision(connection: Connection, world_id: str) -> None:
    connection.execute(update(table.world).where(_WORLD.id == world_id).values(revision=_WORLD.revision + 1))
