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
    func,
    insert,
    inspect,
    or_,
    select,
    text,
    type_coerce,
    update,
)
from sqlalchemy.schema import CreateColumn, CreateTable

from store.database import memory_table, schema, world_table
from store.history import ENDED, put_marks
from store.path import on_path, plain

log = logging.getLogger(__name__)

BATCH = 500
"""Turns that are marked in one transaction, so that other writers wait only briefly."""


@dataclass(frozen=True, slots=True)
class Step:
    """A numbered migration. ``run`` may be called again after a crash."""

    number: int
    what: str
    run: Callable[[Engine], None]


def migrate(engine: Engine) -> None:
    """Brings the tables of an existing database to the present schema. Repeating the call changes nothing.

    The caller holds the lock of the migration (``store.database.engine.alone``): one process migrates at a time.
    """
    with engine.begin() as connection:
        _add_columns(connection, 0)
    for step in STEPS[_version(engine) :]:
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


def _version(engine: Engine) -> int:
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


def _owners(engine: Engine) -> None:
    """Gives every session, folder and preset an owner. Two users may have presets of the same name."""
    with engine.begin() as connection:
        _writing(connection)
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
        _writing(connection)
        _add_columns(connection, 2)


_TURN, _SESSION, _NODE = schema.turn.c, schema.session.c, world_table.node.c


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
        _writing(connection)
        sessions = connection.execute(select(_TURN.session_id).where(uncounted).distinct()).scalars().all()
        connection.execute(update(schema.turn).where(uncounted).values(tokens=_TURN.tokens + _AROUND))
        for session_id in sessions:
            path = connection.execute(select(_SESSION.path).where(_SESSION.id == session_id)).scalar()
            if path is None:
                continue
            lies = (_TURN.session_id == session_id, on_path(_TURN.branch, _TURN.number, plain(path)))
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
        _writing(connection)
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
        _writing(connection)
        connection.execute(text("DROP INDEX IF EXISTS turn_mark"))
    turns = select(_TURN.id, _TURN.question, _TURN.answer, _TURN.branch, _TURN.number, _SESSION.owner)
    turns = turns.add_columns(_TURN.session_id.label("home")).join(schema.session, _SESSION.id == _TURN.session_id)
    nodes = select(_NODE.id, _NODE.question, _NODE.answer, _NODE.line.label("branch"), _NODE.turn.label("number"))
    nodes = nodes.add_columns(world_table.world.c.owner, _NODE.world_id.label("home"))
    nodes = nodes.join(world_table.world, world_table.world.c.id == _NODE.world_id)
    for query, row_id in ((turns.where(_TURN.status.in_(ENDED)), _TURN.id), (nodes, _NODE.id)):
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
    query = query.order_by(row_id).limit(BATCH)
    with engine.begin() as connection:
        return connection.execute(query if after is None else query.where(row_id > after)).all()


def _writing(connection: Connection) -> None:
    """Begins a transaction that writes: SQLite's driver begins none for a statement that changes a table, and a crash
    would leave half a step behind."""
    if connection.dialect.name == "sqlite":
        connection.execute(text("BEGIN IMMEDIATE"))


STEPS = (
    Step(1, "sessions, folders and presets have an owner", _owners),
    Step(2, "sessions keep a client's system text, turns say whether they were given", _told_turns),
    Step(3, "imported turns count the tokens around their messages", _imported_tokens),
    Step(4, "turns say whether their prompts held text of others", _mark_foreign),
    Step(5, "names of sessions are told apart by keys", _names_by_key),
    Step(6, "messages have marks, by which clients' histories are found", _mark_messages),
)
"""Every migration, in order. A step that was released never changes; the next change is a further step."""
