"""The index that finds substrings of the transcript. The database itself keeps the index up to date.

The texts are indexed in the form in which they are compared (``text.fold``).
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

from text.fold import fold_text

log = logging.getLogger(__name__)

PADDING = "\ue0f1\ue0f1"  # private use

_PARTS = ((0, "question"), (1, "answer"))
_TABLES = (
    "CREATE VIRTUAL TABLE turn_search USING fts5(said, content='', columnsize=0, detail=none, tokenize='trigram')",
    "CREATE VIRTUAL TABLE turn_search_term USING fts5vocab('turn_search', 'row')",
)
_KNOWN = "SELECT sql FROM sqlite_master WHERE name = 'turn_search_question_added'"
FOLDED = "folded("
"""Stands in the triggers of an index whose texts are folded; that of an earlier version, without it, is made anew."""


def open_index(engine: Engine) -> bool:
    """Creates the index if it is missing. Returns False when the database cannot index; search then reads the text."""
    makers = {"sqlite": _open_sqlite_index, "postgresql": _open_postgres_index}
    return engine.dialect.name in makers and makers[engine.dialect.name](engine)


def fold_stored(said: str | None) -> str | None:
    """Returns a stored text in the form in which it is searched (``text.fold``); the database calls this as
    ``folded``."""
    return None if said is None else fold_text(said)


def _open_sqlite_index(engine: Engine) -> bool:
    try:
        with engine.begin() as connection:
            connection.execute(text("BEGIN IMMEDIATE"))
            made = connection.execute(text(_KNOWN)).scalar()
            if made is None or FOLDED not in made:
                _drop_index(connection)
                _create_search_index(connection)
    except DBAPIError as error:
        if "no such module" not in str(error) and "no such tokenizer" not in str(error):
            raise
        log.info("this SQLite has no trigram index: search reads the text")
        return False
    return True


def _drop_index(connection: Connection) -> None:
    """Removes the index and its triggers, as far as they are there."""
    for _, part in _PARTS:
        for change in ("added", "changed", "removed"):
            connection.execute(text(f"DROP TRIGGER IF EXISTS turn_search_{part}_{change}"))
    for name in ("turn_search_term", "turn_search"):
        connection.execute(text(f"DROP TABLE IF EXISTS {name}"))


def _create_search_index(connection: Connection) -> None:
    """Creates the index and its triggers, and indexes the existing turns."""
    for statement in _TABLES:
        connection.execute(text(statement))
    for offset, part in _PARTS:
        for statement in _build_triggers(offset, part):
            connection.exec_driver_sql(statement)
        existing = f"SELECT id * 2 + {offset}, {FOLDED}{part}) || '{PADDING}' FROM turn WHERE {part} <> '' ORDER BY id"
        connection.execute(text(f"INSERT INTO turn_search(rowid, said) {existing}"))


def _build_triggers(offset: int, part: str) -> tuple[str, str, str]:
    def entry(row: str) -> str:
        return f"{row}.id * 2 + {offset}, {FOLDED}{row}.{part}) || '{PADDING}' WHERE {row}.{part} <> ''"

    add = f"INSERT INTO turn_search(rowid, said) SELECT {entry('new')};"
    remove = f"INSERT INTO turn_search(turn_search, rowid, said) SELECT 'delete', {entry('old')};"
    changed = f"WHEN new.{part} IS NOT old.{part} OR new.id <> old.id"
    name = f"turn_search_{part}"
    return (
        f"CREATE TRIGGER {name}_added AFTER INSERT ON turn BEGIN {add} END",
        f"CREATE TRIGGER {name}_changed AFTER UPDATE OF id, {part} ON turn {changed} BEGIN {remove} {add} END",
        f"CREATE TRIGGER {name}_removed AFTER DELETE ON turn BEGIN {remove} END",
    )


def fold_in_postgres(column: str) -> str:
    """Returns the expression of a column in the form in which it is searched, as far as PostgreSQL folds case."""
    return f"lower(normalize({column}, NFKC))"


def _open_postgres_index(engine: Engine) -> bool:
    try:
        with engine.begin() as connection:
            if connection.execute(text("SELECT to_regclass('turn_folded_answer')")).scalar():
                return True
            connection.execute(text("CREATE EXTENSION IF NOT EXISTS pg_trgm"))
            for _, part in _PARTS:
                connection.execute(text(f"DROP INDEX IF EXISTS turn_search_{part}"))  # of an earlier version
                said = fold_in_postgres(part)
                ddl = f"CREATE INDEX IF NOT EXISTS turn_folded_{part} ON turn USING gin ({said} gin_trgm_ops)"
                connection.execute(text(ddl))
    except DBAPIError as error:
        log.info("no pg_trgm here: search reads the text (%s)", type(error.orig).__name__)
        return False
    return True
