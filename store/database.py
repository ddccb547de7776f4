"""The database engine: SQLite by default, any SQLAlchemy address by ``DATABASE_URL``; its errors become ours."""

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

from errors import BadSetting, DiskFull, MissingExtra, StoreUnavailable
from store.index import folded, open_index
from store.schema import metadata

BUSY_SECONDS = 30.0
POSTGRES = "langgraph-checkpoint-postgres psycopg[binary]"
"""What PostgreSQL needs beside the requirements."""
MAKING = 0x6769656F6B
"""Key of the advisory lock that guards the making of tables."""


def _driver_errors() -> tuple[type[Exception], ...]:
    """What LangGraph's PostgreSQL saver raises, where it is installed."""
    try:
        from psycopg import Error
    except ImportError:
        return ()
    return (Error,)


_FAILURES: tuple[type[Exception], ...] = (DBAPIError, PoolTimeout, sqlite3.Error, OSError, *_driver_errors())


def connect(url: str) -> tuple[Engine, bool]:
    """An engine with all tables made, and whether search has an index.

    PostgreSQL is reached by psycopg, whatever driver the address names. Raises ``MissingExtra`` without it,
    ``BadSetting``, ``StoreUnavailable``.
    """
    address = parse(url)
    shown = address.render_as_string(hide_password=True)
    _make_folder(address.database if address.get_backend_name() == "sqlite" else None)
    try:
        engine = create_engine(address, **_options(address.get_backend_name()))
    except (ArgumentError, NoSuchModuleError, ModuleNotFoundError) as error:
        if isinstance(error, ModuleNotFoundError) and url.startswith("postgres"):
            raise MissingExtra(feature="PostgreSQL", package=POSTGRES) from error
        raise _unusable(shown) from error
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
    with translated(shown), alone(engine):
        metadata.create_all(engine)
        indexed = open_index(engine)
    return engine, indexed


def parse(url: str) -> URL:
    """The address, with the driver that is used. Raises ``BadSetting``."""
    try:
        return make_url(re.sub(r"^postgres(ql)?(\+\w+)?(?=://)", "postgresql+psycopg", url))
    except (ArgumentError, ValueError) as error:  # a port that is no number is no ArgumentError
        raise _unusable("(unreadable address)") from error


def _unusable(shown: str) -> BadSetting:
    reason = "it is no address of a database that can be used"
    return BadSetting(name="DATABASE_URL", value=shown, reason=reason, reason_code="no_address")


@contextmanager
def alone(engine: Engine) -> Iterator[None]:
    """One process at a time makes the tables: «create what is missing» is no single step in any database."""
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
    """One process at a time, by a lock beside the file."""
    with file.with_name(f"{file.name}.lock").open("a") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def purge(engine: Engine) -> None:
    """Empty the write-ahead log, which still has the pages of rows that were deleted; SQLite overwrites the rows.

    PostgreSQL does this by itself (``VACUUM``).
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


def _options(backend: str) -> dict[str, Any]:
    if backend == "sqlite":
        return {"connect_args": {"timeout": BUSY_SECONDS, "check_same_thread": False}}
    return {"pool_pre_ping": True}


def _make_folder(path: str | None) -> None:
    if path and path != ":memory:":
        with translated(path):
            Path(path).parent.mkdir(parents=True, exist_ok=True)


def _prepare_sqlite(connection: Any, _record: object) -> None:
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")  # the record survives a power cut; a checkpoint need not
    connection.execute("PRAGMA secure_delete=ON")  # what is deleted is overwritten, not only given up
    connection.create_function("folded", 1, folded, deterministic=True)
