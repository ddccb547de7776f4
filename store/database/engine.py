"""The database engine: SQLite by default, any SQLAlchemy address in ``DATABASE_URL``; turns its errors into Gieok's
own.
"""

from __future__ import annotations

import fcntl
import re
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import QueuePool

import private
from errors import (
    BadSetting,
    DiskFull,
    MissingExtra,
    StoreDamaged,
    StoreEmptied,
    StoreUnavailable,
    hide_address_secrets,
)
from store.database.migration import migrate_schema
from store.database.schema import metadata
from store.database.substring_index import fold_stored, open_index

BUSY_SECONDS = 30.0
CONNECT_SECONDS = 10
"""How long a database server may take to answer at all; the system's own limit is minutes."""
CHECKPOINTS = "checkpoint.db"
"""The file beside the record that holds the state of its conversations."""
DAMAGED = ("XX001", "XX002")
"""PostgreSQL's words for data and for an index that cannot be read."""
IN_MEMORY = "sqlite://"
"""The address of a database that exists only in memory and is lost when its engine is closed."""
POSTGRES = "langgraph-checkpoint-postgres psycopg[binary]"
"""Packages that PostgreSQL needs in addition to the requirements."""
MAKING = 0x6769656F6B
"""Key of the advisory lock that guards the creation of tables."""


def _list_database_errors() -> tuple[type[Exception], ...]:
    """Returns what databases raise. psycopg's own errors, which LangGraph's saver lets through, belong to it once it is
    in use."""
    psycopg = sys.modules.get("psycopg")
    driver = (psycopg.Error,) if psycopg is not None else ()
    return (DBAPIError, PoolTimeout, sqlite3.Error, OSError, *driver)


def connect_database(url: str) -> tuple[Engine, bool]:
    """Returns an engine whose tables all exist, and whether search has an index.

    PostgreSQL is reached through psycopg, whatever driver the address names. Raises ``MissingExtra`` when psycopg is
    missing, ``BadSetting`` for an unusable address, ``StoreUnavailable`` when the database fails, and ``StoreEmptied``
    for a file of 0 bytes beside what an earlier use has left: beginning anew is the user's choice.
    """
    address = parse_database_url(url)
    where, file = where_is(address), file_of(address)
    if file is not None:
        with translate_database_errors(where):
            private.make_folder(file.parent)
    try:
        engine = create_engine(address, **_build_engine_options(address))
    except (ArgumentError, NoSuchModuleError, ModuleNotFoundError) as error:
        if isinstance(error, ModuleNotFoundError) and url.startswith("postgres"):
            raise MissingExtra(feature="PostgreSQL", package=POSTGRES) from error
        raise _build_address_error(where) from error
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
    try:
        with translate_database_errors(where), lock_schema(engine):
            if file is not None:
                _create_database_file(file)
            _complete_tables(engine)
            indexed = open_index(engine)
    except BaseException:
        engine.dispose()
        raise
    return engine, indexed


def _complete_tables(engine: Engine) -> None:
    """Creates the tables that are missing, and brings the others to the present schema."""
    metadata.create_all(engine)
    migrate_schema(engine)


def where_is(address: URL) -> str:
    """Returns the address in a form that may be shown and logged: without secrets."""
    return hide_address_secrets(address.render_as_string(hide_password=True))


def parse_database_url(url: str) -> URL:
    """Returns the address with the driver that Gieok uses. Raises ``BadSetting`` for an unreadable address."""
    try:
        return make_url(re.sub(r"^postgres(ql)?(\+\w+)?(?=://)", "postgresql+psycopg", url))
    except (ArgumentError, ValueError) as error:  # a port that is not a number raises ValueError
        raise _build_address_error("(unreadable address)") from error


def _build_address_error(value: str) -> BadSetting:
    reason = "it is no address of a database that can be used"
    return BadSetting(name="DATABASE_URL", value=value, reason=reason, reason_code="no_address")


@contextmanager
def lock_schema(engine: Engine) -> Iterator[None]:
    """Lets one process at a time create the tables: no database offers «create what is missing» as one atomic step."""
    file = engine.url.database
    if engine.dialect.name == "postgresql":
        with engine.begin() as connection:
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": MAKING})
            yield
    elif engine.dialect.name == "sqlite" and file and file != ":memory:":
        with alone_with(Path(file)):
            yield
    else:
        yield


@contextmanager
def alone_with(file: Path) -> Iterator[None]:
    """Lets one process at a time run the block, by a lock file beside ``file``."""
    lock = file.with_name(f"{file.name}.lock")
    private.make_file(lock)
    with lock.open("a") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def purge_write_log(engine: Engine) -> None:
    """Empties the write-ahead log of SQLite, which still has the pages of deleted rows; SQLite overwrites the rows
    themselves.

    PostgreSQL cleans up by itself (``VACUUM``).
    """
    if engine.dialect.name == "sqlite":
        with translate_database_errors(str(engine.url.database)), engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")


@contextmanager
def translate_database_errors(where: str) -> Iterator[None]:
    """Turns database exceptions into ``DiskFull``, ``StoreDamaged`` and ``StoreUnavailable``."""
    try:
        yield
    except _list_database_errors() as error:
        cause = getattr(error, "orig", None) or error
        reason = (str(cause) or type(error).__name__).splitlines()[0]
        if _is_damage(cause):
            raise StoreDamaged(where=where, reason=reason) from error
        if "disk is full" in reason or "No space left" in reason:
            raise DiskFull(path=where, needed="more", free="none") from error
        raise StoreUnavailable(where=where, reason=reason) from error


def _is_damage(error: BaseException) -> bool:
    """Returns whether a database says that its pages cannot be read, by the codes of SQLite and PostgreSQL."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or getattr(error, "sqlstate", None) in DAMAGED


def _build_engine_options(address: URL) -> dict[str, Any]:
    if address.get_backend_name() != "sqlite":
        return {"pool_pre_ping": True, "connect_args": limit_connecting(address)}
    options: dict[str, Any] = {"connect_args": {"timeout": BUSY_SECONDS, "check_same_thread": False}}
    if address.database in (None, "", ":memory:"):  # otherwise each connection opens a database of its own
        options |= {"poolclass": QueuePool, "pool_size": 1, "max_overflow": 0, "pool_timeout": BUSY_SECONDS}
    return options


def limit_connecting(address: URL) -> dict[str, Any]:
    """Returns the options of a connection to PostgreSQL by which it waits ``CONNECT_SECONDS`` at most, unless the
    address says how long; other servers do not know them."""
    takes_limit = address.get_backend_name() == "postgresql" and "connect_timeout" not in address.query
    return {"connect_timeout": CONNECT_SECONDS} if takes_limit else {}


def file_of(address: URL) -> Path | None:
    """Returns the file of a SQLite database; None for a server, and for a database in memory."""
    path = address.database if address.get_backend_name() == "sqlite" else None
    return Path(path) if path and path != ":memory:" and not path.startswith("file:") else None


def _create_database_file(file: Path) -> None:
    if beside := find_leftover_file(file):
        raise StoreEmptied(where=str(file), beside=beside)
    make_private(file)


def remove_empty(url: str) -> None:
    """Removes a database of 0 bytes, so that the next ``connect_database`` makes a new one: the user has said so."""
    file = file_of(parse_database_url(url))
    if file is not None and find_leftover_file(file):
        file.unlink()


def find_leftover_file(path: Path) -> str:
    """Returns the name of a file that holds data of an earlier use of a database that is empty; "" where there is none,
    or the database does not exist: whoever deletes it begins anew."""
    if not path.exists() or path.stat().st_size:
        return ""
    others = (path.with_name(path.name + "-wal"), path.with_name(CHECKPOINTS))
    return next((other.name for other in others if other.exists() and other.stat().st_size), "")


def make_private(path: Path) -> None:
    """Creates a SQLite file that only its owner may read, with its folder.

    SQLite gives the files beside a database the same mode. Shuts those of them that exist already.
    """
    private.make_folder(path.parent)
    private.make_file(path)
    private.restrict_to_owner(*(path.with_name(path.name + end) for end in ("-wal", "-shm", "-journal")))


def _prepare_sqlite(connection: Any, _record: object) -> None:
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")  # the record survives a power cut; a checkpoint need not
    connection.execute("PRAGMA temp_store=MEMORY")  # a sort writes no user's text into a temporary file
    connection.execute("PRAGMA secure_delete=ON")  # overwrites deleted rows instead of only freeing their space
    connection.create_function("folded", 1, fold_stored, deterministic=True)
