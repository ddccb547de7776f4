"""Export and import of all memories of a user, as plain JSON data. Reads the form of earlier releases, too."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, get_args

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Connection, func, insert, select, update

from errors import BadImport
from memory.export.conversion import convert_memory
from memory.export.old_origin import mark_lines_of_others
from memory.key import Scope
from memory.row.profile import MOST_READ
from memory.row.rows import (
    Head,
    MemoryRows,
    add_line,
    as_line,
    change_lines,
    change_source,
    match_session,
    read_head,
    read_sessions,
)
from memory.state import Kind, LineOrigin, MemoryLine, Origin
from store.database import memory_table as table
from store.database import schema
from store.database.insert import insert_into
from text.clean import clean_text, collapse_spaces

FORMAT = "gieok-memory"
FORMAT_VERSION = 2
MOST_TURNS = 10_000_000
"""Highest turn number that an export may hold: a line by hand may name any of seven digits."""
MOST_SECONDS = 4e9
"""Latest moment that an export may hold (Unix seconds)."""
_TEXTS = ("number", "turn", "first", "folded", "branch", "origin", "language", "created", "lines", "entities", "record")


@dataclass(frozen=True, slots=True)
class ImportedLine:
    """A line of an export, checked: ``id`` names it within its memory."""

    id: int
    kind: str
    turn: int
    at: float
    origin: str
    text: str
    key: str = ""
    pinned: bool = False
    branch: int = 0
    replaced_by: int | None = None
    forgotten_at: float | None = None
    session: str = ""


@dataclass(frozen=True, slots=True)
class ImportedText:
    """A version of an export. ``lines``, ``entities``: ids of lines."""

    number: int
    turn: int
    first: int
    folded: int
    branch: int
    origin: str
    language: str
    created: float
    lines: list[int]
    entities: list[int]
    record: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ImportedMemory:
    """The memory of one session in an export."""

    session: str
    lines: list[ImportedLine]
    versions: list[ImportedText]
    apart: bool = False
    skipped: int = 0


_MEMORIES = TypeAdapter(list[ImportedMemory])


def export_user(rows: MemoryRows, tenant: str, user: str) -> dict[str, Any]:
    """Returns all memories of a user, with their versions, as plain JSON data."""
    with rows.transaction() as connection:
        sessions = read_sessions(connection, tenant, user)
        found = [_export_session(connection, Scope(tenant, row.session), row) for row in reversed(sessions)]
    memories = [each for each in found if each["lines"] or each["versions"]]
    return {"format": FORMAT, "version": FORMAT_VERSION, "user": user, "memories": memories}


def import_user(rows: MemoryRows, tenant: str, user: str, data: Mapping[str, Any]) -> int:
    """Imports an export under this tenant and user; returns how many memories it wrote.

    Keeps memories that exist already, unless they are empty. What a session that does not exist here told stays in the
    profile. Raises ``BadImport`` and changes nothing then.
    """
    if data.get("format") != FORMAT or data.get("version") not in (1, FORMAT_VERSION):
        form = f"{FORMAT} {FORMAT_VERSION}"
        raise BadImport(reason=f"it is not in the form {form}", reason_code="form", form=form)
    try:
        memories = data["memories"]
        if data["version"] == 1:
            memories = [convert_memory(memory["state"], memory["versions"]) for memory in memories]
        parsed = parse_memories(memories)
        for memory in parsed:
            _check_imported_memory(memory)
    except (LookupError, TypeError, ValueError, AttributeError, ValidationError) as error:
        detail = collapse_spaces(clean_text(f"{type(error).__name__} {error}"))[:200]
        raise BadImport(reason=detail, reason_code="content", detail=detail) from error
    with rows.alone() as connection:
        is_old = data["version"] != FORMAT_VERSION
        ordered = sorted(parsed, key=lambda memory: not memory.session)  # the user's own memory last
        written = [(memory, write_memory(connection, tenant, user, memory, is_old, True)) for memory in ordered]
        if not is_old:
            _link_replaced_lines(connection, written)
    return sum(ids is not None for _, ids in written)


def parse_memories(memories: list[Any]) -> list[ImportedMemory]:
    """Returns the memories of an export as data. Raises ``ValueError`` where one has not the form of an export."""
    return _MEMORIES.validate_json(json.dumps(memories, allow_nan=False), strict=True)


def write_memory(
    connection: Connection, tenant: str, user: str, memory: ImportedMemory, is_old: bool, imported: bool = False
) -> dict[int, int] | None:
    """Writes the memory of a session that has none; returns the ids of its lines by those of the export, None where
    one is. ``is_old``: it comes from an earlier release, which knew no branches and had pins of all sessions twice;
    ``imported``: out of a file that anybody may have written."""
    scope = Scope(tenant, memory.session)
    held = select(func.count()).select_from(table.line)
    held = held.where(*match_session(table.line, scope), table.line.c.kind != "forgotten")
    owner = connection.execute(
        select(schema.session.c.owner).where(schema.session.c.id == memory.session)
    ).scalar_one_or_none()
    if connection.execute(held).scalar() or owner not in (None, user):
        return None
    row = {"tenant": tenant, "session": memory.session, "user": user, "updated": time.time()}
    connection.execute(insert_into(connection, table.source).values(**row).on_conflict_do_nothing())
    head = read_head(connection, scope)
    values = {"apart": memory.apart, "skipped": max(head.skipped, memory.skipped), "revision": head.revision + 1}
    change_source(connection, scope, **values, **({"stays": True} if owner is None else {}))
    lines, versions = memory.lines, memory.versions
    if is_old:
        lines = [replace(line, branch=head.branch_of(line.turn)) for line in lines]
        versions = [replace(version, branch=head.branch_of(version.turn)) for version in versions]
        known = _profile_labels(connection, tenant, user) if not memory.session else set()
        lines = mark_lines_of_others(connection, replace(head, user=user), lines, versions)
        lines = [line for line in lines if line.text not in known]
    ids = _write_lines(connection, Head(scope, user), lines, imported)
    if imported:  # the conversation's later prompts may hold these lines, also those that its memory holds no more
        connection.execute(
            update(schema.turn).where(schema.turn.c.session_id == scope.session).values(has_foreign=True)
        )
    for version in versions:
        made = asdict(version)
        made |= {name: [ids[each] for each in made[name]] for name in ("lines", "entities")}
        connection.execute(
            insert(table.version), {**made, "tenant": tenant, "session": memory.session, "undone": False}
        )
    return ids


def _profile_labels(connection: Connection, tenant: str, user: str) -> set[str]:
    query = select(table.line.c.text).where(
        table.line.c.tenant == tenant, table.line.c.user == user, table.line.c.kind == "profile"
    )
    return set(connection.execute(query).scalars())


def _write_lines(connection: Connection, head: Head, lines: list[ImportedLine], imported: bool) -> dict[int, int]:
    ids = dict[int, int]()
    for line in lines:
        values = asdict(line)
        for name in ("id", "session", "replaced_by"):
            del values[name]
        ids[line.id] = add_line(connection, head, **values, imported=imported)
    return ids


def _link_replaced_lines(connection: Connection, written: list[tuple[ImportedMemory, dict[int, int] | None]]) -> None:
    """Notes which lines replace which: also a line of another session."""
    ids = {old: new for _, known in written for old, new in (known or {}).items()}
    for memory, known in written:
        for line in memory.lines if known is not None else ():
            if line.replaced_by in ids:
                change_lines(connection, [ids[line.id]], replaced_by=ids[line.replaced_by])


def _export_session(connection: Connection, scope: Scope, source: Any) -> dict[str, Any]:
    line, version = table.line.c, table.version.c
    lines = select(table.line).where(*match_session(table.line, scope))
    versions = select(table.version).where(*match_session(table.version, scope), version.undone.is_(False))
    rows: list[MemoryLine] = [as_line(row) for row in connection.execute(lines.order_by(line.id))]
    return {
        "session": scope.session,
        "apart": bool(source.apart),
        "skipped": source.skipped,
        "lines": [{name: value for name, value in asdict(row).items() if name != "imported"} for row in rows],
        "versions": [
            {name: row._mapping[name] for name in _TEXTS} for row in connection.execute(versions.order_by(version.id))
        ],
    }


def _check_imported_memory(memory: ImportedMemory) -> None:
    """Raises ``ValueError`` where a value is one that memory never writes."""
    ids = {line.id for line in memory.lines}
    if len(ids) < len(memory.lines):
        raise ValueError("two lines of one id")
    numbers = [line.turn for line in memory.lines] + [memory.skipped]
    for version in memory.versions:
        numbers += [version.number, version.turn, version.first, version.folded]
        if not ids.issuperset([*version.lines, *version.entities]):
            raise ValueError("a version with a line that is not there")
    branches = [line.branch for line in memory.lines] + [version.branch for version in memory.versions]
    if not all(0 <= number <= MOST_TURNS for number in (*numbers, *branches)):
        raise ValueError("a number out of range")
    if not all(line.kind in get_args(Kind) and line.origin in get_args(LineOrigin) for line in memory.lines):
        raise ValueError("a line of an unknown kind")
    times = [line.at for line in memory.lines] + [version.created for version in memory.versions]
    if not all(0 <= at < MOST_SECONDS for at in times):
        raise ValueError("a time out of range")
    for version in memory.versions:
        if version.language not in ("ko", "en") or version.origin not in get_args(Origin):
            raise ValueError("a version of an unknown language or origin")
        facts = [version.record.get(name, []) for name in ("kept", "lost")]
        if not all(isinstance(fact, list) for fact in facts) or not isinstance(version.record.get("cost", {}), dict):
            raise ValueError("a record that memory never writes")
    if sum(line.kind == "profile" for line in memory.lines) > 10 * MOST_READ:
        raise ValueError("more lines of a profile than a user can have")
