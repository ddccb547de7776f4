"""The index that finds substrings of the transcript. The database itself keeps the index up to date.

SQLite: FTS5 with trigrams. Questions and answers are separate entries (row ``2 * turn.id``, ``+ 1`` for the answer).
The index holds no positions and no copy of the text, so it takes about two fifths of the text's bytes; search checks
every find in the text itself. Two characters of padding let the last characters of a text start a trigram too, so that
a query of two characters (the usual Korean word) matches the starts of trigrams. PostgreSQL: pg_trgm where it is
available.
"""

from __future__ import annotations

import logging

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

log = logging.getLogger(__name__)

PADDING = "\ue0f1\ue0f1"  # private use

_PARTS = ((0, "question"), (1, "answer"))
_TABLES = (
    "CREATE VIRTUAL TABLE turn_search USING fts5(said, content='', columnsize=0, detail=none, tokenize='trigram')",
    "CREATE VIRTUAL TABLE turn_search_term USING fts5vocab('turn_search', 'row')",
)
_KNOWN = "SELECT 1 FROM sqlite_master WHERE name = 'turn_search'"


def open_index(engine: Engine) -> bool:
    """Creates the index if it is missing. Returns False when the database cannot index; search then reads the text."""
    makers = {"sqlite": _sqlite, "postgresql": _postgres}
    return engine.dialect.name in makers and makers[engine.dialect.name](engine)


def folded(said: str | None) -> str | None:
    """Returns the text in lower case, character by character, so that offsets in the result are offsets in the text."""
    if said is None:
        return None
    lowered = said.lower()
    if len(lowered) == len(said):
        return lowered
    return "".join(letter.lower() if len(letter.lower()) == 1 else letter for letter in said)


def _sqlite(engine: Engine) -> bool:
    try:
        with engine.begin() as connection:
            connection.execute(text("BEGIN IMMEDIATE"))
            if not connection.execute(text(_KNOWN)).first():
                _make(connection)
    except DBAPIError as error:
        if "no such module" not in str(error) and "no such tokenizer" not in str(error):
            raise
        log.info("this SQLite has no trigram index: search reads the text")
        return False
    return True


def _make(connection: Connection) -> None:
    """Creates the index and its triggers, and indexes the existing turns."""
    for statement in _TABLES:
        connection.execute(text(statement))
    for offset, part in _PARTS:
        for statement in _triggers(offset, part):
            connection.exec_driver_sql(statement)
        existing = f"SELECT id * 2 + {offset}, {part} || '{PADDING}' FROM turn WHERE {part} <> '' ORDER BY id"
        connection.execute(text(f"INSERT INTO turn_search(rowid, said) {existing}"))


def _triggers(offset: int, part: str) -> tuple[str, str, str]:
    def entry(row: str) -> str:
        return f"{row}.id * 2 + {offset}, {row}.{part} || '{PADDING}' WHERE {row}.{part} <> ''"

    add = f"INSERT INTO turn_search(rowid, said) SELECT {entry('new')};"
    remove = f"INSERT INTO turn_search(turn_search, rowid, said) SELECT 'delete', {entry('old')};"
    changed = f"WHEN new.{part} IS NOT old.{part} OR new.id <> old.id"
    name = f"turn_search_{part}"
    return (
        f"CREATE TRIGGER {name}_added AFTER INSERT ON turn BEGIN {add} END",
        f"CREATE TRIGGER {name}_changed AFTER UPDATE OF id, {part} ON turn {changed} BEGIN {remove} {add} END",
        f"CREATE TRIGGER {name}_removed AFTER DELETE ON turn BEGIN {remove} END",
    )


def _postgres(engine: Engine) -> bool:
    try:
        with engine.begin() as connection:
            if connection.execute(text("SELECT to_regclass('turn_search_answer')")).scalar():
                return True
            connection.execute(text("CREATE EXTENSION IF NOT EXISTS pg_trgm"))
            for _, part in _PARTS:
                ddl = f"CREATE INDEX IF NOT EXISTS turn_search_{part} ON turn USING gin ({part} gin_trgm_ops)"
                connection.execute(text(ddl))
    except DBAPIError as error:
        log.info("no pg_trgm here: search reads the text (%s)", type(error.orig).__name__)
        return False
    return True
