"""Copies what a world has added to the turns of a story, so that a further story goes on from any turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Table, insert, or_, select, update

from store.database import world_table as table
from store.path import Path, is_among
from store.world import change, tree
from store.world.record import Episode

_NODE, _VECTOR, _FINDING = table.node.c, table.vector.c, table.finding.c
_STATE = tuple(rows for rows in table.BY_NODE if rows is not table.block)
"""What a turn has changed. The curator's texts retell all that was before it, and are made anew."""


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


def copy_nodes_earlier(
    connection: Connection, session_id: str, path: Path, number: int, last: int, branch: int
) -> None:
    """Writes what a world has added to the turns of ``path`` after turn ``number``, up to ``last``, once more for the
    same turns one place earlier on ``branch``. A turn that was worked off is to be worked off anew, so that it changes
    the state that is before it now; one that a client told keeps what was read in it."""
    rows = tree.list_rows_between(connection, select(table.node), session_id, path, number, last)[::-1]
    later = [row for row in rows if row.turn > number]
    if not later:
        return
    parent = rows[0].parent  # of the turn that goes, or, where it was never answered, of the first one after it
    since = connection.execute(select(_NODE.since).where(_NODE.id == parent)).scalar() or 0
    for row in later:
        since += 1
        values = {name: value for name, value in row._mapping.items() if name != "id"}
        values |= {"branch": branch, "turn": row.turn - 1, "parent": parent, "since": since, "snapshot": None}
        if row.status != "given":
            values |= {"status": "raw", "origin": "none", "refusals": None, "mood": None}
            values["source"] = row.id if row.status == "done" else row.source
        parent = connection.execute(insert(table.node).returning(_NODE.id), values).scalar_one()
        if row.status == "given":
            copy_node_state(connection, row.id, parent, moved=1)
        copy_verdicts(connection, row.id, parent)


def copy_node_state(connection: Connection, node_id: int, to: int, moved: int = 0) -> None:
    """Gives a turn what another one has changed, which says the same. ``moved``: how many places later that one
    stands."""
    for rows in _STATE:
        _copy_world_rows(connection, rows, rows.c.node, {node_id: to})
    if moved:
        events, marks = table.events.c, table.lore_mark.c
        connection.execute(update(table.events).where(events.node == to).values(turn=events.turn - moved))
        mentioned = update(table.lore_mark).where(marks.node == to, marks.last_mentioned > moved)
        connection.execute(mentioned.values(last_mentioned=marks.last_mentioned - moved))


def copy_verdicts(connection: Connection, node_id: int, to: int) -> None:
    """Gives a turn those findings of another one, which says the same, that somebody has judged: what was put right
    there, and what the user has called intended. Others are noted again."""
    judged = or_(_FINDING.mend.is_not(None), _FINDING.status != "open")
    _copy_world_rows(connection, table.finding, _FINDING.node, {node_id: to}, judged)


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
