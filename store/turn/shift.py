"""The later turns of a conversation once more, one place earlier, on a branch that leaves one turn out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from sqlalchemy import Connection, insert, select, update

from store.database import schema
from store.path import Path, branch_at, on_path
from store.search.turn_index_change import record_change
from store.session.history import copy_marks_earlier

_TURN, _ROW = schema.turn.c, schema.turn_index.c
_STANDING_PARTS = ("turns",)
"""The parts of a report that stay true in another place: past turns that the answer cites by their marks. All else
tells of a prompt that held the turn that is left out."""
_RECALL, _RECALLED = "recall", "turns"
"""The tool that looks past turns up, and the field of its step's artifact that names them."""

_AROUND = (
    *("files", "usage", "reasoning", "feedback", "steps", "started", "finished", "seconds", "first_token_seconds"),
    *("status", "given", "unused", "has_foreign", "is_imported", "pinned"),
)
"""What a turn has beside its words."""


def copy_turns_earlier(connection: Connection, session_id: str, path: Path, number: int, branch: int) -> None:
    """Writes the turns of ``path`` after turn ``number`` to ``branch``, each one place earlier: what was asked and
    answered, its steps, files, thoughts and marks, and what a search reads of it. Their calls count where they were
    made."""
    here = (_TURN.session_id == session_id, on_path(_TURN.branch, _TURN.number, path), _TURN.number > number)
    rows = connection.execute(select(schema.turn).where(*here).order_by(_TURN.number)).mappings()
    move_item = partial(_move_item, path=path, number=number, branch=branch)
    copies = [_move_turn_earlier({str(name): value for name, value in row.items()}, branch, move_item) for row in rows]
    if copies:
        connection.execute(insert(schema.turn), copies)
    copy_marks_earlier(connection, session_id, path, number, branch)
    found = (_ROW.session_id == session_id, on_path(_ROW.branch, _ROW.number, path), _ROW.number > number)
    indexed = connection.execute(select(schema.turn_index).where(*found)).mappings().all()
    if indexed:
        at = {"branch": branch, "revision": record_change(connection, session_id, rebuilt=False)}
        moved = [{**row, **at, "number": row["number"] - 1} for row in indexed]
        connection.execute(insert(schema.turn_index), moved)


def copy_turn_around(connection: Connection, session_id: str, source: tuple[int, int], target: tuple[int, int]) -> None:
    """Gives a turn that says the same as another one what came with that: its files, thoughts, calls and times.
    ``source``, ``target``: their branches and numbers. The calls count where they were made."""
    here, there = (
        (_TURN.session_id == session_id, _TURN.branch == branch, _TURN.number == number)
        for branch, number in (source, target)
    )
    columns = (schema.turn.c[name] for name in _AROUND)
    values = connection.execute(select(*columns).where(*here)).mappings().one()
    connection.execute(update(schema.turn).where(*there).values(**values, is_copy=True))


def _move_turn_earlier(row: Mapping[str, Any], branch: int, move_item: Callable[[str], str]) -> dict[str, Any]:
    number = row["number"] - 1
    moved = {name: value for name, value in row.items() if name != "id"}
    messages = row["messages"] and [_renumber_message(message, row, branch) for message in row["messages"]]
    report = _keep_standing_parts(row["report"] or {}, number, move_item)
    steps = row["steps"] and [_move_recalled_turns(step, move_item) for step in row["steps"]]
    place = {"branch": branch, "number": number, "is_copy": True}
    return {**moved, **place, "messages": messages, "report": report, "steps": steps}


def _renumber_message(message: Mapping[str, Any], row: Mapping[str, Any], branch: int) -> dict[str, Any]:
    """Returns a message of a turn as one of the turn before. Its id changes, too: the next turn of the conversation
    takes the number that the last one had."""
    data, session_id, number = dict(message["data"]), row["session_id"], row["number"] - 1
    for field in ("additional_kwargs", "response_metadata"):
        if "turn" in (data.get(field) or {}):
            data[field] = {**data[field], "turn": number}
    if data.get("id") == f"{session_id}-{row['number']}":
        data["id"] = f"{session_id}-{number}"
    elif data.get("id") == f"{session_id}-{row['branch']}-{row['number']}-answer":
        data["id"] = f"{session_id}-{branch}-{number}-answer"
    return {**message, "data": data}


def _keep_standing_parts(
    report: Mapping[str, Any], number: int, move_item: Callable[[str], str]
) -> dict[str, Any] | None:
    parts = [
        {**part, "items": [*map(move_item, part.get("items") or ())]}
        for part in report.get("parts") or ()
        if part["name"] in _STANDING_PARTS
    ]
    empty = {"left_out": [], "total_tokens": 0, "full_tokens": 0, "exact": False}
    return {"turn": number, "parts": parts, **empty} if parts else None


def _move_recalled_turns(step: Mapping[str, Any], move_item: Callable[[str], str]) -> dict[str, Any]:
    """Returns a step with the places of the past turns that it looked up, where it is one that does so."""
    artifact = step.get("artifact") or {}
    if step.get("name") != _RECALL or not artifact.get(_RECALLED):
        return dict(step)
    return {**step, "artifact": {**artifact, _RECALLED: [*map(move_item, artifact[_RECALLED])]}}


def _move_item(item: str, *, path: Path, number: int, branch: int) -> str:
    """Returns a past turn as an answer cites it, where it stands on a branch without turn ``number``. That turn itself
    is nowhere (turn 0): its item stays, for an answer names the others by their order."""
    other, own_branch, own_number, score = item.rsplit("/", 3)
    if other or int(own_number) < number or branch_at(path, int(own_number)) != int(own_branch):
        return item
    if int(own_number) == number:
        return f"/{own_branch}/0/{score}"
    return f"/{branch}/{int(own_number) - 1}/{score}"
