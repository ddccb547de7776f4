"""What a turn changed, as rows of the database, and back; and as plain data, for snapshots and exports."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from sqlalchemy import Connection, Table, bindparam, delete, insert, select

from store.database import world_table as table
from store.world.record import (
    Alias,
    Changes,
    Character,
    Episode,
    LeftOutName,
    Location,
    LoreMark,
    PlayerItem,
    Relation,
    StoryTime,
    UsedItem,
)

PARTS: tuple[tuple[str, Table, type[Any]], ...] = (
    ("characters", table.characters, Character),
    ("relations", table.relationships, Relation),
    ("locations", table.locations, Location),
    ("items", table.items, PlayerItem),
    ("lore", table.lore_mark, LoreMark),
    ("aliases", table.aliases, Alias),
    ("left_out", table.left_out, LeftOutName),
    ("used", table.used, UsedItem),
    ("times", table.times, StoryTime),
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


def write_changes(connection: Connection, node: int, changes: Changes) -> None:
    """Writes the rows of a turn, in place of those that it has of the same names. The mood is the turn's own."""
    for name, rows, _ in PARTS:
        values = [{"node": node, **_build_plain_row(one)} for one in getattr(changes, name)]
        keys = [column.name for column in rows.primary_key]
        unique = {tuple(value[key] for key in keys): value for value in values}
        if unique:
            for value in unique.values():
                same = [rows.c[key] == value[key] for key in keys]
                connection.execute(delete(rows).where(*same))
            connection.execute(insert(rows), list(unique.values()))
    if changes.episode is not None:
        connection.execute(delete(table.events).where(table.events.c.node == node))
        connection.execute(insert(table.events), {**_build_plain_row(changes.episode), "node": node})


def load_changes(connection: Connection, nodes: Mapping[int, str | None]) -> dict[int, Changes]:
    """Returns the changes of turns. ``nodes``: their ids with their moods."""
    parts: dict[int, dict[str, Any]] = {node: {"mood": mood} for node, mood in nodes.items()}
    for name, rows, kind in PARTS:
        for row in connection.execute(select(rows).where(rows.c.node.in_(list(nodes)))):
            parts[row.node].setdefault(name, []).append(_build_record(kind, dict(row._mapping)))
    for node, episode in load_episodes(connection, nodes).items():
        parts[node]["episode"] = episode
    return {node: _build_changes(part) for node, part in parts.items()}


def load_episodes(connection: Connection, nodes: Iterable[int]) -> dict[int, Episode]:
    """Returns the episodes of turns by their ids."""
    rows = connection.execute(_EPISODES, {"nodes": list(nodes)})
    return {row.node: _build_record(Episode, dict(row._mapping)) for row in rows}


def episodes_of(connection: Connection, world_id: str, nodes: Iterable[int]) -> dict[int, Episode]:
    """Returns the episodes of turns of a world by the turns' ids; those of another world are left out."""
    rows = [dict(row._mapping) for row in connection.execute(_EPISODES_AND_WORLDS, {"nodes": list(nodes)})]
    return {row["node"]: _build_record(Episode, row) for row in rows if row.pop("world") == world_id}


def merge_changes(old: Changes, new: Changes) -> Changes:
    """Returns the changes of both; the new ones win where both name the same."""
    lists = {}
    for name, rows, _ in PARTS:
        lists[name] = tuple({**_key_rows(old, name, rows), **_key_rows(new, name, rows)}.values())
    return Changes(**lists, mood=old.mood if new.mood is None else new.mood, episode=new.episode or old.episode)


def find_added_rows(whole: Changes, part: Changes) -> Changes:
    """Returns what of the first changes is not in the second ones."""
    lists = {name: tuple(one for one in getattr(whole, name) if one not in getattr(part, name)) for name, *_ in PARTS}
    mood = whole.mood if whole.mood != part.mood else None
    return Changes(**lists, mood=mood, episode=whole.episode if whole.episode != part.episode else None)


def rename_person_rows(changes: Changes, names: Collection[str], new: str) -> Changes:
    """Returns changes in which the rows of somebody with these names bear another one. What stands under that already
    told of him as of somebody else, and goes."""
    renamed = [replace(one, name=new) for one in changes.characters if one.name in names]
    others = [one for one in changes.characters if one.name not in names and (one.name != new or not renamed)]
    relations = list[Relation]()
    for one in changes.relations:
        first, then = (new if name in names else name for name in (one.from_char, one.to_char))
        relations += [replace(one, from_char=first, to_char=then)] if first != then else []
    return replace(changes, characters=(*renamed, *others), relations=tuple(relations))


@dataclass(frozen=True, slots=True)
class ChangedValue:
    """One value that changes made another one. ``part``: its list in ``Changes``; ``key``: the names of its row."""

    part: str
    key: tuple[Any, ...]
    name: str


def list_changed_values(old: Changes, new: Changes, now: Changes | None = None) -> list[ChangedValue]:
    """Returns the values in which the rows of two changes differ; with ``now`` those that are as the new ones say."""
    found = list[ChangedValue]()
    for part, rows, kind in PARTS:
        before, after, present = (_key_rows(one, part, rows) for one in (old, new, now or new))
        found += (
            ChangedValue(part, key, field.name)
            for key, row in after.items()
            if key in before and key in present
            for field in fields(kind)
            if getattr(before[key], field.name) != getattr(row, field.name) == getattr(present[key], field.name)
        )
    return found


def take_back(old: Changes, new: Changes, now: Changes, only: ChangedValue | None = None) -> Changes:
    """Returns the present rows with the old values where the new ones still are so. ``only``: one of them."""
    values = [one for one in list_changed_values(old, new, now) if only in (None, one)]
    lists: dict[str, Any] = {}
    for part, rows, _ in PARTS:
        before, present = (_key_rows(one, part, rows) for one in (old, now))
        changed: dict[tuple[Any, ...], dict[str, Any]] = {}
        for one in values:
            if one.part == part:
                changed.setdefault(one.key, {})[one.name] = getattr(before[one.key], one.name)
        lists[part] = tuple(replace(present[key], **some) for key, some in changed.items())
    return Changes(**lists)


def _key_rows(changes: Changes, part: str, rows: Table) -> dict[tuple[Any, ...], Any]:
    """Returns the rows of a list by their names."""
    keys = [column.name for column in rows.primary_key if column.name != "node"]
    return {tuple(getattr(one, key) for key in keys): one for one in getattr(changes, part)}


# --- plain data -------------------------------------------------------------------------------------


def build_plain_changes(changes: Changes) -> dict[str, Any]:
    """Returns changes as JSON data; empty parts are left out."""
    lists = {name: [_build_plain_row(one) for one in getattr(changes, name)] for name, _, _ in PARTS}
    whole = {**lists, "mood": changes.mood, "episode": _build_plain_row(changes.episode) if changes.episode else None}
    return {name: value for name, value in whole.items() if value not in ([], None)}


def changes_of(data: Mapping[str, Any]) -> Changes:
    """Returns the changes that ``build_plain_changes`` wrote. Raises ``KeyError``, ``TypeError`` for other data."""
    lists = {name: [_build_record(kind, row) for row in data.get(name, ())] for name, _, kind in PARTS}
    episode = data.get("episode")
    return _build_changes(
        {**lists, "mood": data.get("mood"), "episode": _build_record(Episode, episode) if episode else None}
    )


def plain_snapshot(snapshot: Snapshot) -> dict[str, Any]:
    """Returns a snapshot as JSON data."""
    lists = {"recent": snapshot.recent, "important": snapshot.important}
    return {
        "changes": build_plain_changes(snapshot.changes),
        **{name: list(map(_build_plain_row, some)) for name, some in lists.items()},
    }


def parse_snapshot(data: Mapping[str, Any]) -> Snapshot:
    """Returns the snapshot that ``plain_snapshot`` wrote."""
    recent, important = (
        [_build_record(Episode, row) for row in data.get(name, ())] for name in ("recent", "important")
    )
    return Snapshot(changes_of(data["changes"]), tuple(recent), tuple(important))


def _build_changes(parts: Mapping[str, Any]) -> Changes:
    whole: dict[str, Any] = {name: tuple(one) if isinstance(one, list) else one for name, one in parts.items()}
    return Changes(**whole)


def _build_plain_row(one: Any) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(one).items()}


def _build_record(kind: type[Any], row: Mapping[str, Any]) -> Any:
    names = [field.name for field in fields(kind)]
    return kind(**{name: _freeze_list(row[name]) for name in names if name in row})


def _freeze_list(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
