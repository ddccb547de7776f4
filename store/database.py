"""The database engine: SQLite by default, any SQLAlchemy address by ``DATABASE_URL``; its errors become ours."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from errors import BadSetting, DiskFull, StoreUnavailable
from store.schema import metadata

BUSY_SECONDS = 30.0


def connect(url: str) -> Engine:
    """An engine with all tables made. Raises ``BadSetting`` or ``StoreUnavailable``."""
    try:
        address = make_url(url)
        _make_folder(address.database if address.get_backend_name() == "sqlite" else None)
        engine = create_engine(address, **_options(address.get_backend_name()))
    except (ArgumentError, NoSuchModuleError, ModuleNotFoundError) as error:
        raise BadSetting(name="DATABASE_URL", value=_without_password(url), reason=str(error)) from error
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
    with translated(_without_password(url)):
        metadata.create_all(engine)
    return engine


@contextmanager
def translated(where: str) -> Iterator[None]:
    """Turns database exceptions into ``DiskFull`` and ``StoreUnavailable``."""
    try:
        yield
    except (DBAPIError, sqlite3.Error, OSError) as error:
        reason = str(getattr(error, "orig", None) or error).splitlines()[0]
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


def _without_password(url: str) -> str:
    try:
        return make_url(url).render_as_string(hide_password=True)
    except ArgumentError:
        return "(unreadable address)"
