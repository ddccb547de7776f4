"""The database engine: SQLite by default, any SQLAlchemy address in ``DATABASE_URL``; turns its errors into Gieok's
own.
"""

from __future__ import annotations

import fcntl
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import QueuePool

import private
from errors import BadSetting, DiskFull, MissingExtra, StoreUnavailable, shown
from store.database.migration import migrate
from store.database.schema import metadata
from store.database.substring_index import folded, open_index

BUSY_SECONDS = 30.0
IN_MEMORY = "sqlite://"
"""The address of a database that exists only in memory and is lost when its engine is closed."""
POSTGRES = "langgraph-checkpoint-postgres psycopg[binary]"
"""Packages that PostgreSQL needs in addition to the requirements."""
MAKING = 0x6769656F6B
"""Key of the advisory lock that guards the creation of tables."""


def _driver_errors() -> tuple[type[Exception], ...]:
    """Returns the exceptions that LangGraph's PostgreSQL saver raises, if its driver is installed."""
    try:
        from psycopg import Error
    except ImportError:
        return ()
    return (Error,)


_FAILURES: tuple[type[Exception], ...] = (DBAPIError, PoolTimeout, sqlite3.Error, OSError, *_driver_errors())


def connect(url: str) -> tuple[Engine, bool]:
    """Returns an engine whose tables all exist, and whether search has an index.

    PostgreSQL is reached through psycopg, whatever driver the address names. Raises ``MissingExtra`` when psycopg is
    missing, ``BadSetting`` for an unusable address, ``StoreUnavailable`` when the database fails.
    """
    address = parse(url)
    where = where_is(address)
    if address.get_backend_name() == "sqlite":
        _make(address.database)
    try:
        engine = create_engine(address, **_options(address))
    except (ArgumentError, NoSuchModuleError, ModuleNotFoundError) as error:
        if isinstance(error, ModuleNotFoundError) and url.startswith("postgres"):
            raise MissingExtra(feature="PostgreSQL", package=POSTGRES) from error
        raise _unusable(where) from error
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
    try:
        with translated(where), alone(engine):
            metadata.create_all(engine)
            migrate(engine)
            indexed = open_index(engine)
    except BaseException:
        engine.dispose()
        raise
    return engine, indexed


def where_is(address: URL) -> str:
    """Returns the address in a form that may be shown and logged: without secrets."""
    return shown(address.render_as_string(hide_password=True))


def parse(url: str) -> URL:
    """Returns the address with the driver that Gieok uses. Raises ``BadSetting`` for an unreadable address."""
    try:
        return make_url(re.sub(r"^postgres(ql)?(\+\w+)?(?=://)", "postgresql+psycopg", url))
    except (ArgumentError, ValueError) as error:  # a port that is not a number raises ValueError
        raise _unusable("(unreadable address)") from error


def _unusable(value: str) -> BadSetting:
    reason = "it is no address of a database that can be used"
    return BadSetting(name="DATABASE_URL", value=value, reason=reason, reason_code="no_address")


@contextmanager
def alone(engine: Engine) -> Iterator[None]:
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


def purge(engine: Engine) -> None:
    """Empties the write-ahead log of SQLite, which still has the pages of deleted rows; SQLite overwrites the rows
    themselves.

    PostgreSQL cleans up by itself (``VACUUM``).
    """
    if engine.dialect.name == "sqlite":
        with translated(str(engine.url.database)), engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")


@contextmanager
def translated(where: str) -> Iterator[None]:
    """Turns database exceptions into ``DiskFull`` and ``StoreUnavailable``."""
    try:
        yield
    except _FAILURES as error:
        reason = (str(getattr(error, "orig", None) or error) or type(error).__name__).splitlines()[0]
        if "disk is full" in reason or "No space left" in reason:
            raise DiskFull(path=where, needed="more", free="none") from error
        raise StoreUnavailable(where=where, reason=reason) from error


def _options(address: URL) -> dict[str, Any]:
    if address.get_backend_name() != "sqlite":
        return {"pool_pre_ping": True}
    options: dict[str, Any] = {"connect_args": {"timeout": BUSY_SECONDS, "check_same_thread": False}}
    if address.database in (None, "", ":memory:"):  # otherwise each connection opens a database of its own
        options |= {"poolclass": QueuePool, "pool_size": 1, "max_overflow": 0, "pool_timeout": BUSY_SECONDS}
    return options


def _make(path: str | None) -> None:
    if path and path != ":memory:" and not path.startswith("file:"):
        with translated(path):
            make_private(Path(path))


def make_private(path: Path) -> None:
    """Creates a SQLite file that only its owner may read, with its folder.

    SQLite gives the files beside a database the same mode. Shuts those of them that exist already.
    """
    private.make_folder(path.parent)
    private.make_file(path)
    private.shut(*(path.with_name(path.name + end) for end in ("-wal", "-shm", "-journal")))


def _prepare_sqlite(connection: Any, _record: object) -> None:
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")  # the record survives a power cut; a checkpoint need not
    connection.execute("PRAGMA temp_store=MEMORY")  # a sort writes no user's text into a temporary file
    connection.execute("PRAGMA secure_delete=ON")  # overwrites deleted rows instead of only freeing their space
    connection.create_function("folded", 1, folded, deterministic=True)
