"""Copies what a world has added to the turns of a story, so that a further story goes on from any turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Table, insert, select

from store.database import world_table as table
from store.path import Path, is_among
from store.world import change, tree
from store.world.record import Episode

_NODE, _VECTOR, _FINDING = table.node.c, table.vector.c, table.finding.c


def copy_story(connection: Connection, session_id: str, path: Path, last_turn: int, copy_id: str) -> None:
    """Copies the world's rows of the turns of ``path`` up to ``last_turn`` to the trunk of another conversation, whose
    turns are there already."""
    rows = tree.list_rows_between(connection, select(table.node), session_id, path, path[0][1], last_turn)
    made: dict[int, int] = {}
    for row in reversed(rows):
        values = {name: value for name, value in row._mapping.items() if name != "id"}
        values |= {"session_id": copy_id, "branch": 0, "parent": made.get(row.parent, 0)}
        if row.snapshot:
            values["snapshot"] = _renumber_snapshot(row.snapshot, made)
        new = connection.execute(insert(table.node).returning(_NODE.id), values)
        made[row.id] = int(new.scalar_one())
    for of_node in (*table.BY_NODE, table.finding):
        _copy_world_rows(connection, of_node, of_node.c.node, made)
    _copy_world_rows(connection, table.vector, _VECTOR.ref, made, _VECTOR.kind == "episode")


def _copy_world_rows(connection: Connection, rows: Table, node: Any, made: Mapping[int, int], *where: Any) -> None:
    found = connection.execute(select(rows).where(is_among(node, made), *where)).mappings().all()
    own = "id" if rows is table.finding else ""
    copies = [{**{name: row[name] for name in row if name != own}, node.name: made[row[node.name]]} for row in found]
    if copies:
        connection.execute(insert(rows), copies)


def _renumber_snapshot(stored: Mapping[str, Any], made: Mapping[int, int]) -> dict[str, Any]:
    """Returns a snapshot whose episodes name the turns of the copy."""

    def renumber(episodes: tuple[Episode, ...]) -> tuple[Episode, ...]:
        return tuple(replace(one, node=made.get(one.node, 0)) for one in episodes)

    old = change.parse_snapshot(stored)
    return change.plain_snapshot(replace(old, recent=renumber(old.recent), important=renumber(old.important)))
