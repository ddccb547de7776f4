"""The part of an exported story that its world adds: names, lorebook, what is so at the beginning, and what each turn
changed. The world's own files (its texts, its card) are exported as a book (``world.book``)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator
from sqlalchemy import Connection, insert, select

from store.database import world_table as table
from store.path import Path, branch_at
from store.world import change
from store.world.record import Changes, LoreEntry, Origin
from store.world.worlds import NAME_CHARS, Worlds
from text.language import Language

_NODE = table.node.c
_CHANGES, _ENTRY = TypeAdapter(Changes), TypeAdapter(LoreEntry)
_Count = Annotated[int, Field(ge=0, le=2**31 - 1)]


class StoryTurnForm(BaseModel):
    """What the world adds to a turn."""

    model_config = ConfigDict(extra="forbid", strict=True)
    branch: _Count
    number: _Count
    raw: str
    status: Literal["raw", "done", "given"]
    origin: Origin = "none"
    block: dict[str, Any] | None = None
    refusals: list[str] = []
    changes: dict[str, Any] = {}

    @field_validator("changes")
    @classmethod
    def _is_known(cls, value: dict[str, Any]) -> dict[str, Any]:
        return _check_changes(value)


class WorldForm(BaseModel):
    """The world of an exported story. ``begin``: the changes that lead to the state before the first turn."""

    model_config = ConfigDict(extra="forbid", strict=True)
    name: Annotated[str, Field(min_length=1, max_length=NAME_CHARS)]
    player: Annotated[str, Field(max_length=NAME_CHARS)]
    language: Language
    begin: dict[str, Any] = {}
    lore: list[dict[str, Any]] = []
    turns: list[StoryTurnForm] = []

    @field_validator("begin")
    @classmethod
    def _is_known(cls, value: dict[str, Any]) -> dict[str, Any]:
        return _check_changes(value)

    @field_validator("lore")
    @classmethod
    def _are_entries(cls, value: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for entry in value:
            _read_checked(_ENTRY, entry)
        return value


def _check_changes(value: dict[str, Any]) -> dict[str, Any]:
    """Raises ``ValueError`` for changes that the tables cannot hold."""
    changes: Changes = _read_checked(_CHANGES, value)
    for name, _, _ in change.PARTS:
        for row in getattr(changes, name):
            if any(isinstance(text, str) and len(text) > table.NAME_CHARS for text in _list_row_names(row)):
                raise ValueError(f"a name in {name} is longer than {table.NAME_CHARS} characters")
    return value


def _list_row_names(row: Any) -> list[Any]:
    return [getattr(row, name, "") for name in ("name", "from_char", "to_char")]


def _read_checked(form: TypeAdapter[Any], value: Any) -> Any:
    try:
        return form.validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error


def collect_world(connection: Connection, world_id: str, session_id: str, path: Path | None) -> dict[str, Any]:
    """Returns the world of a story as ``WorldForm``; with ``path`` only its turns, all on branch 0."""
    worlds = Worlds(lambda: nullcontext(connection))
    world = worlds.world(world_id)
    query = select(table.node).where(_NODE.session_id == session_id).order_by(_NODE.branch, _NODE.turn)
    rows = connection.execute(query).all()
    if path is not None:
        rows = [row for row in rows if path[0][1] <= row.turn and branch_at(path, row.turn) == row.branch]
    changes = change.load_changes(connection, {row.id: row.mood for row in rows})
    turns = [
        {
            "branch": row.branch if path is None else 0,
            "number": row.turn,
            "raw": row.raw,
            "status": row.status,
            "origin": row.origin,
            **({"block": row.block} if row.block else {}),
            **({"refusals": row.refusals} if row.refusals else {}),
            "changes": change.build_plain_changes(changes[row.id]),
        }
        for row in rows
    ]
    return {
        "name": world.name,
        "player": world.player,
        "language": world.language,
        "begin": change.build_plain_changes(worlds.begin_state(world_id)),
        "lore": [asdict(entry) | {"keys": list(entry.keys)} for entry in worlds.lore(world_id)],
        "turns": turns,
    }


def write_world(connection: Connection, form: WorldForm) -> str:
    """Creates the world of an imported story, without a story yet; returns its id."""
    worlds = Worlds(lambda: nullcontext(connection))
    world = worlds.create_in(connection, form.name, form.language, form.player)
    worlds.set_begin_state(world.id, _read_checked(_CHANGES, form.begin))
    return world.id


def write_world_turns(
    connection: Connection, form: WorldForm, world_id: str, session_id: str, paths: Sequence[Path]
) -> None:
    """Writes what the world adds to the turns of an imported story, whose turns are there already, and its lorebook."""
    entries: list[LoreEntry] = [_read_checked(_ENTRY, entry) for entry in form.lore]
    stored = Worlds(lambda: nullcontext(connection)).put_lore(world_id, [replace(one, id=0) for one in entries])
    lore = {old.id: new.id for old, new in zip(entries, stored, strict=True)}
    made: dict[tuple[int, int], tuple[int, int]] = {}
    for turn in sorted(form.turns, key=lambda one: one.number):
        parent, since = _find_parent(made, paths, turn.branch, turn.number)
        changes: Changes = _read_checked(_CHANGES, turn.changes)
        marks = tuple(replace(mark, lore=lore[mark.lore]) for mark in changes.lore if mark.lore in lore)
        row = {"world_id": world_id, "session_id": session_id, "branch": turn.branch, "turn": turn.number}
        row |= {"parent": parent, "since": since + 1, "raw": turn.raw, "status": turn.status, "origin": turn.origin}
        row |= {"block": turn.block, "refusals": turn.refusals, "mood": changes.mood}
        node = int(connection.execute(insert(table.node).returning(_NODE.id), row).scalar_one())
        made[turn.branch, turn.number] = node, since + 1
        change.write_changes(connection, node, replace(changes, lore=marks))


def _find_parent(
    made: dict[tuple[int, int], tuple[int, int]], paths: Sequence[Path], branch: int, number: int
) -> tuple[int, int]:
    """Returns the node that a turn follows, and how long ago the state was stored whole; 0 for the first."""
    path = next((path for path in paths if path[-1][0] == branch), [(branch, number)])
    for before in range(number - 1, path[0][1] - 1, -1):
        if (found := made.get((branch_at(path, before), before))) is not None:
            return found
    return 0, 0
