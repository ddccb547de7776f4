"""What a turn changed, as rows of the database, and back; and as plain data, for snapshots and exports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from sqlalchemy import Connection, Table, bindparam, delete, insert, select

from store.database import world_table as table
from store.world.record import Alias, Changes, Character, Episode, Item, LeftOut, Location, LoreMark, Relation

PARTS: tuple[tuple[str, Table, type[Any]], ...] = (
    ("characters", table.characters, Character),
    ("relations", table.relationships, Relation),
    ("locations", table.locations, Location),
    ("items", table.items, Item),
    ("lore", table.lore_mark, LoreMark),
    ("aliases", table.aliases, Alias),
    ("left_out", table.left_out, LeftOut),
)
"""The lists of ``Changes``, each with its table and the class of its rows."""
_EPISODES = select(table.events).where(table.events.c.node.in_(bindparam("nodes", expanding=True)))
_EPISODES_AND_WORLDS = _EPISODES.add_columns(
    select(table.node.c.world_id).where(table.node.c.id == table.events.c.node).scalar_subquery().label("world")
)
"""With the world of every row: a condition on the world would have SQLite read all its turns."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A whole state: the changes that lead to it from nothing, and the episodes that it carries."""

    changes: Changes
    recent: tuple[Episode, ...] = ()
    important: tuple[Episode, ...] = ()


def write(connection: Connection, node: int, changes: Changes) -> None:
    """Writes the rows of a turn, in place of those that it has of the same names. The mood is the turn's own."""
    for name, rows, _ in PARTS:
        values = [{"node": node, **_plain(one)} for one in getattr(changes, name)]
        keys = [column.name for column in rows.primary_key]
        unique = {tuple(value[key] for key in keys): value for value in values}
        if unique:
            for value in unique.values():
                same = [rows.c[key] == value[key] for key in keys]
                connection.execute(delete(rows).where(*same))
            connection.execute(insert(rows), list(unique.values()))
    if changes.episode is not None:
        connection.execute(delete(table.events).where(table.events.c.node == node))
        connection.execute(insert(table.events), {**_plain(changes.episode), "node": node})


def read(connection: Connection, nodes: Mapping[int, str | None]) -> dict[int, Changes]:
    """Returns the changes of turns. ``nodes``: their ids with their moods."""
    parts: dict[int, dict[str, Any]] = {node: {"mood": mood} for node, mood in nodes.items()}
    for name, rows, kind in PARTS:
        for row in connection.execute(select(rows).where(rows.c.node.in_(list(nodes)))):
            parts[row.node].setdefault(name, []).append(_one(kind, dict(row._mapping)))
    for node, episode in episodes(connection, nodes).items():
        parts[node]["episode"] = episode
    return {node: _changes(part) for node, part in parts.items()}


def episodes(connection: Connection, nodes: Iterable[int]) -> dict[int, Episode]:
    """Returns the episodes of turns by their ids."""
    rows = connection.execute(_EPISODES, {"nodes": list(nodes)})
    return {row.node: _one(Episode, dict(row._mapping)) for row in rows}


def episodes_of(connection: Connection, world_id: str, nodes: Iterable[int]) -> dict[int, Episode]:
    """Returns the episodes of turns of a world by the turns' ids; those of another world are left out."""
    rows = [dict(row._mapping) for row in connection.execute(_EPISODES_AND_WORLDS, {"nodes": list(nodes)})]
    return {row["node"]: _one(Episode, row) for row in rows if row.pop("world") == world_id}


def merged(old: Changes, new: Changes) -> Changes:
    """Returns the changes of both; the new ones win where both name the same."""
    lists = {}
    for name, rows, _ in PARTS:
        keys = [column.name for column in rows.primary_key if column.name != "node"]
        both = {tuple(getattr(one, key) for key in keys): one for one in (*getattr(old, name), *getattr(new, name))}
        lists[name] = tuple(both.values())
    return Changes(**lists, mood=old.mood if new.mood is None else new.mood, episode=new.episode or old.episode)


def take_back(old: Changes, new: Changes, now: Changes) -> Changes:
    """Returns the old rows of which the new ones still are so."""
    lists: dict[str, Any] = {}
    for name, rows, _ in PARTS:
        keys = [column.name for column in rows.primary_key if column.name != "node"]
        still = {tuple(getattr(one, key) for key in keys) for one in getattr(new, name) if one in getattr(now, name)}
        lists[name] = tuple(one for one in getattr(old, name) if tuple(getattr(one, key) for key in keys) in still)
    return Changes(**lists)


# --- plain data -------------------------------------------------------------------------------------


def plain(changes: Changes) -> dict[str, Any]:
    """Returns changes as JSON data; empty parts are left out."""
    lists = {name: [_plain(one) for one in getattr(changes, name)] for name, _, _ in PARTS}
    whole = {**lists, "mood": changes.mood, "episode": _plain(changes.episode) if changes.episode else None}
    return {name: value for name, value in whole.items() if value not in ([], None)}


def changes_of(data: Mapping[str, Any]) -> Changes:
    """Returns the changes that ``plain`` wrote. Raises ``KeyError``, ``TypeError`` for other data."""
    lists = {name: [_one(kind, row) for row in data.get(name, ())] for name, _, kind in PARTS}
    episode = data.get("episode")
    return _changes({**lists, "mood": data.get("mood"), "episode": _one(Episode, episode) if episode else None})


def plain_snapshot(snapshot: Snapshot) -> dict[str, Any]:
    """Returns a snapshot as JSON data."""
    lists = {"recent": snapshot.recent, "important": snapshot.important}
    return {"changes": plain(snapshot.changes), **{name: list(map(_plain, some)) for name, some in lists.items()}}


def snapshot_of(data: Mapping[str, Any]) -> Snapshot:
    """Returns the snapshot that ``plain_snapshot`` wrote."""
    recent, important = ([_one(Episode, row) for row in data.get(name, ())] for name in ("recent", "important"))
    return Snapshot(changes_of(data["changes"]), tuple(recent), tuple(important))


def _changes(parts: Mapping[str, Any]) -> Changes:
    whole: dict[str, Any] = {name: tuple(one) if isinstance(one, list) else one for name, one in parts.items()}
    return Changes(**whole)


def _plain(one: Any) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(one).items()}


def _one(kind: type[Any], row: Mapping[str, Any]) -> Any:
    names = [field.name for field in fields(kind)]
    return kind(**{name: _frozen(row[name]) for name in names if name in row})


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
