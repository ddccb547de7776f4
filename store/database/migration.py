"""Migration of older databases to the present schema: numbered steps, after additions that need no number.

Whatever a table lacks and no step adds is added first; that brings any older database to step 0. Then the steps run
that the table ``schema_version`` does not name yet. Every step may run twice, because a crash may come before its
number is written. Every new column has a server default or allows NULL, so an earlier version can still read and write
the database beside this one.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    Connection,
    Engine,
    MetaData,
    Table,
    Text,
    and_,
    bindparam,
    delete,
    func,
    insert,
    inspect,
    or_,
    select,
    text,
    type_coerce,
    update,
)
from sqlalchemy import column as named_column
from sqlalchemy import table as named_table
from sqlalchemy.schema import CreateColumn, CreateTable

from store.database import memory_table, schema, world_table
from store.path import TRUNK, on_path, parse_path
from store.session.history import ENDED, put_marks
from text.sentence import remove_sentences

log = logging.getLogger(__name__)

BATCH = 500
"""Turns that are marked in one transaction, so that other writers wait only briefly."""


@dataclass(frozen=True, slots=True)
class MigrationStep:
    """A numbered migration. ``run`` may be called again after a crash."""

    number: int
    what: str
    run: Callable[[Engine], None]


def migrate_schema(engine: Engine) -> None:
    """Brings the tables of an existing database to the present schema. Repeating the call changes nothing.

    The caller holds the lock of the migration (``store.database.engine.lock_schema``): one process migrates at a time.
    """
    with engine.begin() as connection:
        _add_columns(connection, 0)
    for step in STEPS[_read_schema_version(engine) :]:
        step.run(engine)
        with engine.begin() as connection:
            _note_step(connection, step.number)
        log.info("migration %d: %s", step.number, step.what)
    with engine.begin() as connection:
        for table in schema.metadata.sorted_tables:
            for index in table.indexes:
                index.create(connection, checkfirst=True)


def _note_step(connection: Connection, step: int) -> None:
    """Notes that a step is done; a step that must not run twice does so itself, in its own transaction."""
    known = connection.execute(select(func.max(schema.schema_version.c.step))).scalar() or 0
    if known < step:
        connection.execute(insert(schema.schema_version), {"step": step, "at": time.time()})


def _read_schema_version(engine: Engine) -> int:
    with engine.begin() as connection:
        return connection.execute(select(func.max(schema.schema_version.c.step))).scalar() or 0


def _add_columns(connection: Connection, since: int) -> None:
    """Adds the columns that the tables lack; ``since``: the step that the columns belong to, 0 for none."""
    for table in schema.metadata.sorted_tables:
        columns = [column for column in table.columns if column.info.get("since", 0) == since]
        known = {column["name"] for column in inspect(connection).get_columns(table.name)} if columns else set()
        for column in columns:
            if column.name not in known:
                definition = CreateColumn(column).compile(dialect=connection.dialect)
                connection.exec_driver_sql(f"ALTER TABLE {table.name} ADD COLUMN {definition}")
                log.info("added the column %s to the table %s", column.name, table.name)


def _add_owners(engine: Engine) -> None:
    """Gives every session, folder and preset an owner. Two users may have presets of the same name."""
    with engine.begin() as connection:
        _begin_write(connection)
        _own_presets(connection)
        _add_columns(connection, 1)
        for index in ("session_list", "session_folder"):  # the present indexes begin with the owner
            connection.execute(text(f"DROP INDEX IF EXISTS {index}"))


def _own_presets(connection: Connection) -> None:
    """Makes the owner a part of the presets' key; SQLite changes a key only by a new table."""
    key = inspect(connection).get_pk_constraint("preset")
    if "owner" in key["constrained_columns"]:
        return
    if connection.dialect.name == "sqlite":
        _new_table(connection, schema.preset)
        return
    _add_columns(connection, 1)
    connection.execute(text(f'ALTER TABLE preset DROP CONSTRAINT "{key["name"]}"'))
    connection.execute(text("ALTER TABLE preset ADD PRIMARY KEY (owner, name)"))


def _new_table(connection: Connection, table: Table) -> None:
    """Replaces a table by one of the present form with the same rows."""
    columns = ", ".join(column["name"] for column in inspect(connection).get_columns(table.name))
    made = table.to_metadata(MetaData(), name=f"{table.name}_new")
    connection.execute(text(f"DROP TABLE IF EXISTS {made.name}"))
    connection.execute(CreateTable(made))
    connection.execute(text(f"INSERT INTO {made.name} ({columns}) SELECT {columns} FROM {table.name}"))
    connection.execute(text(f"DROP TABLE {table.name}"))
    connection.execute(text(f"ALTER TABLE {made.name} RENAME TO {table.name}"))


def _told_turns(engine: Engine) -> None:
    """Adds what clients tell: system text, given turns."""
    with engine.begin() as connection:
        _begin_write(connection)
        _add_columns(connection, 2)


_TURN, _SESSION = schema.turn.c, schema.session.c
_OLD_NODE = named_table(
    "world_node",
    named_column("id"),
    named_column("world_id", schema.ExactName()),
    named_column("line"),
    named_column("turn"),
    named_column("question", schema.ExactText()),
    named_column("answer", schema.ExactText()),
    named_column("receipt", schema.PlainData()),
    named_column("report", schema.PlainData()),
    named_column("created"),
).c
"""The turns of stories up to step 6: they had a tree of their own."""
_OLD_LINE = named_table(
    "world_line", named_column("id"), named_column("world_id"), named_column("path", schema.PlainData())
).c


_AROUND = 8
"""Tokens that two messages take beside their text (``graph.context.prompt.message_tokens``)."""


def _imported_tokens(engine: Engine) -> None:
    """Counts the tokens around the two messages of turns that were imported from elsewhere: the import left them out.

    A turn that a model of ours answered has its usage; one that a client told ends with a message named so by us.
    """
    texts = type_coerce(_TURN.messages, Text)
    imported = (_TURN.usage.is_(None), _TURN.status == "done", _TURN.given.is_(False), _TURN.tokens > 0)
    uncounted = and_(*imported, texts.is_not(None), texts.not_like('%-answer"%'))
    with engine.begin() as connection:
        _begin_write(connection)
        sessions = connection.execute(select(_TURN.session_id).where(uncounted).distinct()).scalars().all()
        connection.execute(update(schema.turn).where(uncounted).values(tokens=_TURN.tokens + _AROUND))
        for session_id in sessions:
            path = connection.execute(select(_SESSION.path).where(_SESSION.id == session_id)).scalar()
            if path is None:
                continue
            lies = (_TURN.session_id == session_id, on_path(_TURN.branch, _TURN.number, parse_path(path)))
            total = connection.execute(select(func.sum(_TURN.tokens)).where(*lies)).scalar() or 0
            connection.execute(update(schema.session).where(_SESSION.id == session_id).values(history_tokens=total))
        _note_step(connection, 3)


def _mark_foreign(engine: Engine) -> None:
    """Marks the turns that came out of a file, the turns whose prompts held text of others, and those after them; lines
    of memory that a model made of such answers become foreign.

    Of older turns only traces tell: a turn too many asks the user a question more, a turn too few would ask none.
    """
    steps, messages = type_coerce(_TURN.steps, Text), type_coerce(_TURN.messages, Text)
    imported = or_(_TURN.id < 1, and_(_TURN.usage.is_(None), _TURN.status == "done", _TURN.given.is_(False)))
    with_client = select(_SESSION.id).where(_SESSION.client_system != "")
    traces = (
        imported,
        _TURN.given,
        steps.like('%"foreign":true%'),
        steps.like('%"name":"search_documents"%'),
        messages.like('%"images":%'),
        type_coerce(_TURN.question, Text).like('%<outside name="%'),
        _TURN.session_id.in_(with_client),
    )
    firsts = select(_TURN.session_id.label("of_session"), func.min(_TURN.number).label("first"))
    later = (_TURN.session_id == bindparam("of_session"), _TURN.number > bindparam("first"))
    line = memory_table.line.c
    said = (_TURN.session_id == line.session, _TURN.branch == line.branch, _TURN.number == line.turn)
    of_it = select(_TURN.id).where(*said, _TURN.has_foreign).exists()
    with engine.begin() as connection:
        _begin_write(connection)
        connection.execute(update(schema.turn).where(imported).values(is_imported=True))
        connection.execute(update(schema.turn).where(or_(*traces)).values(has_foreign=True))
        found = connection.execute(firsts.where(_TURN.has_foreign).group_by(_TURN.session_id)).mappings().all()
        if found:
            connection.execute(update(schema.turn).where(*later).values(has_foreign=True), [dict(row) for row in found])
        connection.execute(update(memory_table.line).where(line.origin == "model", of_it).values(origin="foreign"))
        _note_step(connection, 4)


def _names_by_key(engine: Engine) -> None:
    """Lets every narrowed key have names of sessions of its own; the present index has the key in it."""
    with engine.begin() as connection:
        connection.execute(text("DROP INDEX IF EXISTS session_alias"))


def _mark_messages(engine: Engine) -> None:
    """Makes every finished turn of conversations and stories known by marks of its messages; before, whole turns had
    one mark each. Marks that are there already stay, so that a part of it may run twice."""
    with engine.begin() as connection:
        _begin_write(connection)
        connection.execute(text("DROP INDEX IF EXISTS turn_mark"))
    turns = select(_TURN.id, _TURN.question, _TURN.answer, _TURN.branch, _TURN.number, _SESSION.owner)
    turns = turns.add_columns(_TURN.session_id.label("home")).join(schema.session, _SESSION.id == _TURN.session_id)
    node = _OLD_NODE
    nodes = select(node.id, node.question, node.answer, node.line.label("branch"), node.turn.label("number"))
    nodes = nodes.add_columns(world_table.world.c.owner, node.world_id.label("home"))
    nodes = nodes.join(world_table.world, world_table.world.c.id == node.world_id)
    queries = [(turns.where(_TURN.status.in_(ENDED)), _TURN.id), (nodes, node.id)]
    with engine.begin() as connection:
        has_nodes = _has_own_tree(connection)
    for query, row_id in queries if has_nodes else queries[:1]:
        last: int | None = None
        while rows := _next_rows(engine, query, row_id, last):
            with engine.begin() as connection:
                known: dict[tuple[str, str, int], list[tuple[int, str, list[str]]]] = {}
                for row in rows:
                    of_branch = known.setdefault((row.owner, row.home, row.branch), [])
                    of_branch.append((row.number, row.question, [row.answer or ""]))
                for (owner, home, branch), turns_of_branch in known.items():
                    put_marks(connection, owner, home, branch, turns_of_branch)
            last = rows[-1].id


def _next_rows(engine: Engine, query: Any, row_id: Any, after: int | None) -> Sequence[Any]:
    """Returns the next rows of a table, after the row ``after``."""
    with engine.begin() as connection:
        return _next_of(connection, query, row_id, after)


def _next_of(connection: Connection, query: Any, row_id: Any, after: int | None) -> Sequence[Any]:
    query = query.order_by(row_id).limit(BATCH)
    return connection.execute(query if after is None else query.where(row_id > after)).all()


def _has_own_tree(connection: Connection) -> bool:
    """Returns whether stories have a tree of turns of their own, as up to step 6."""
    return any(one["name"] == "line" for one in inspect(connection).get_columns("world_node"))


def _join_stories(engine: Engine) -> None:
    """Makes every story a conversation: its turns lie in the one tree of all turns, and keep their numbers and
    branches. All of it is one transaction."""
    with engine.begin() as connection:
        _begin_write(connection)
        if _has_own_tree(connection):
            for world in connection.execute(select(world_table.world)).all():
                _make_story(connection, world)
            _move_turns(connection)
            _reshape_nodes(connection)
            connection.execute(text("DROP TABLE world_line"))
        _note_step(connection, 7)


def _make_story(connection: Connection, world: Any) -> None:
    """Makes the conversation of a world's stories, on the path of the turn that was told last."""
    node, row = _OLD_NODE, {"id": world.id, "world": world.id, "title": world.name, "titled": "user"}
    last = select(node.line, node.turn).where(node.world_id == world.id).order_by(node.id.desc()).limit(1)
    newest = connection.execute(last).one_or_none()
    used = select(func.max(node.created)).where(node.line == _OLD_LINE.id).scalar_subquery()
    lines = connection.execute(select(_OLD_LINE.id, _OLD_LINE.path, used).where(_OLD_LINE.world_id == world.id)).all()
    branches = [
        {"session_id": world.id, "id": line, "path": path, "used": at or world.created} for line, path, at in lines
    ]
    branches = branches or [{"session_id": world.id, "id": 0, "path": TRUNK, "used": world.created}]
    paths = {branch["id"]: branch["path"] for branch in branches}
    row |= {"path": paths[newest.line] if newest else TRUNK, "turn_count": newest.turn if newest else 0}
    row |= {"language": world.language, "compression_rate": 0.3, "history_tokens": 0, "owner": world.owner}
    row |= {"api_key": world.api_key, "created": world.created, "updated": world.updated}
    connection.execute(insert(schema.session), row)
    connection.execute(insert(schema.branch), branches)


def _move_turns(connection: Connection) -> None:
    """Writes what was said in stories as turns. They lie below all other turns, as those of a file do: search takes
    ids for moments."""
    node = _OLD_NODE
    lowest = connection.execute(select(func.min(_TURN.id))).scalar()
    count = connection.execute(select(func.count(node.id))).scalar_one()
    turn_id, after = min(1 if lowest is None else lowest, 1) - count, None
    while rows := _next_of(connection, select(*node), node.id, after):
        turns = [_as_turn(row) | {"id": turn_id + at} for at, row in enumerate(rows)]
        connection.execute(insert(schema.turn), turns)
        turn_id, after = turn_id + len(rows), rows[-1].id


def _as_turn(row: Any) -> dict[str, Any]:
    """Returns the turn of a node as it was up to step 6."""
    paid = row.receipt or {}
    names = ("prompt_tokens", "cached_tokens", "answer_tokens", "exact", "usd")
    usage = {"calls": 1, "cut_at": 0, "model": "", **{name: paid[name] for name in names if name in paid}}
    usage |= {"last_prompt_tokens": paid.get("prompt_tokens") or 0, "cache_usd": paid.get("saved_usd") or 0.0}
    turn = {"session_id": row.world_id, "branch": row.line, "number": row.turn}
    turn |= {"question": row.question, "answer": row.answer, "started": row.created, "finished": row.created}
    is_stopped = bool((row.report or {}).get("stopped"))
    return turn | {
        "status": "stopped" if is_stopped else "done",
        "usage": usage if paid else None,
        "tokens": 0,
        "steps": [],
    }


def _reshape_nodes(connection: Connection) -> None:
    """Leaves of the turns of stories what their world adds to them."""
    if connection.dialect.name != "sqlite":
        for change in (
            "ADD COLUMN session_id VARCHAR(64)",
            "ADD COLUMN branch INTEGER",
        ):
            connection.execute(text(f"ALTER TABLE world_node {change}"))
        connection.execute(text("UPDATE world_node SET session_id = world_id, branch = line"))
        for change in (
            "ALTER COLUMN session_id SET NOT NULL",
            "ALTER COLUMN branch SET NOT NULL",
            *(f"DROP COLUMN {name}" for name in ("line", "question", "answer", "created")),
            "ADD UNIQUE (session_id, branch, turn)",
        ):
            connection.execute(text(f"ALTER TABLE world_node {change}"))
        return
    made = world_table.node.to_metadata(MetaData(), name="world_node_new")
    connection.execute(text("DROP TABLE IF EXISTS world_node_new"))
    connection.execute(CreateTable(made))
    same = ", ".join(one.name for one in made.columns if one.name not in ("session_id", "branch"))
    moved = f"INSERT INTO world_node_new (session_id, branch, {same}) SELECT world_id, line, {same} FROM world_node"
    connection.execute(text(moved))
    # ids are never used again, also those of turns that are gone
    connection.execute(text("DELETE FROM sqlite_sequence WHERE name = 'world_node_new'"))
    counted = "SELECT 'world_node_new', seq FROM sqlite_sequence WHERE name = 'world_node'"
    connection.execute(text(f"INSERT INTO sqlite_sequence (name, seq) {counted}"))
    connection.execute(text("DROP TABLE world_node"))
    connection.execute(text("ALTER TABLE world_node_new RENAME TO world_node"))


def _mark_imported_prompts(engine: Engine) -> None:
    """Marks the system prompts of conversations that came out of files."""
    of_file = select(_TURN.session_id).where(_TURN.is_imported)
    own = schema.session_options.c
    with engine.begin() as connection:
        marked = update(schema.session_options).where(own.system_prompt != "", own.session_id.in_(of_file))
        connection.execute(marked.values(is_imported=True))


def _remove_page_sentences(engine: Engine) -> None:
    """Removes from memory what the page's button said in the user's role; what else such a line says stays."""
    line, source = memory_table.line.c, memory_table.source
    ours = ("Go on from where you stopped.", "멈춘 곳부터 이어서 써 줘.")
    holds = or_(*(line.text.ilike(f"%{sentence.rstrip('.')}%") for sentence in ours))
    with engine.begin() as connection:
        _begin_write(connection)
        told = (line.kind.in_(("sentence", "statement")), holds)
        found = connection.execute(select(line.id, line.text, line.tenant, line.session).where(*told)).all()
        for row in found:
            if rest := remove_sentences(row.text, ours):
                connection.execute(update(memory_table.line).where(line.id == row.id).values(text=rest))
            else:
                connection.execute(delete(memory_table.line).where(line.id == row.id))
        for tenant, session in {(row.tenant, row.session) for row in found}:
            of_session = (source.c.tenant == tenant, source.c.session == session)
            connection.execute(update(source).where(*of_session).values(revision=source.c.revision + 1))


def _begin_write(connection: Connection) -> None:
    """Begins a transaction that writes: SQLite's driver begins none for a statement that changes a table, and a crash
    would leave half a step behind."""
    if connection.dialect.name == "sqlite":
        connection.execute(text("BEGIN IMMEDIATE"))


STEPS = (
    MigrationStep(1, "sessions, folders and presets have an owner", _add_owners),
    MigrationStep(2, "sessions keep a client's system text, turns say whether they were given", _told_turns),
    MigrationStep(3, "imported turns count the tokens around their messages", _imported_tokens),
    MigrationStep(4, "turns say whether their prompts held text of others", _mark_foreign),
    MigrationStep(5, "names of sessions are told apart by keys", _names_by_key),
    MigrationStep(6, "messages have marks, by which clients' histories are found", _mark_messages),
    MigrationStep(7, "stories are conversations with a world", _join_stories),
    MigrationStep(8, "system prompts of imported conversations are marked", _mark_imported_prompts),
    MigrationStep(9, "what the page said for the user is no line of memory", _remove_page_sentences),
)
"""Every migration, in order. A step that was released never changes; the next change is a further step."""
