"""What an address of a database means, and what is said when its driver is not there."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text

from errors import BadSetting, MissingExtra, StoreDamaged, StoreEmptied, StoreUnavailable
from store import Store
from store.database.engine import (
    CHECKPOINTS,
    CONNECT_SECONDS,
    _build_engine_options,
    connect_database,
    parse_database_url,
    remove_empty,
    translate_database_errors,
)


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg", "postgresql+psycopg2"])
def test_postgresql_without_its_driver_says_what_to_install(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtra, match="psycopg") as raised:
        connect_database(f"{scheme}://me:secret@localhost/gieok")
    assert "pip install langgraph-checkpoint-postgres psycopg[binary]" in raised.value.text()


@pytest.mark.parametrize("address", ["nonsense://there", "garbage", "postgresql://u:secret@127.0.0.1:port/x"])
def test_an_address_that_cannot_be_read_is_a_bad_setting(address: str) -> None:
    with pytest.raises(BadSetting, match="DATABASE_URL") as raised:
        connect_database(address)
    assert "secret" not in str(raised.value)


# --- damaged files ------------------------------------------------------------------------------


def overwrite_pages(file: Path) -> None:
    """Leaves the head and writes over everything behind it."""
    content = file.read_bytes()
    file.write_bytes(content[:4096] + b"\xa5" * (len(content) - 4096))


def overwrite_head(file: Path) -> None:
    file.write_bytes(b"\xa5" * file.stat().st_size)


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:10_000])


def write(path: Path) -> str:
    """Makes a database with conversations; returns its address."""
    url = f"sqlite:///{path}"
    store = Store(url)
    for _ in range(50):
        store.create_session("en", 0.3)
    store.close()
    for end in ("-wal", "-shm"):
        path.with_name(path.name + end).unlink(missing_ok=True)
    return url


@pytest.mark.parametrize("damage", [overwrite_pages, overwrite_head, cut])
def test_a_damaged_database_gets_the_advice_that_helps(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    url = write(tmp_path / "gieok.db")
    damage(tmp_path / "gieok.db")
    with pytest.raises(StoreDamaged) as raised:
        Store(url).sessions()
    assert all(word in raised.value.text() for word in ("gieok.db", "copy", "restore", ".recover"))
    assert not raised.value.retryable


def test_damage_is_known_by_its_code_wherever_it_is_met(tmp_path: Path) -> None:
    write(tmp_path / "gieok.db")
    overwrite_head(tmp_path / "gieok.db")
    with (
        closing(sqlite3.connect(tmp_path / "gieok.db")) as connection,
        pytest.raises(StoreDamaged),
        translate_database_errors("gieok.db"),
    ):
        connection.execute("SELECT * FROM session")


def test_a_database_that_cannot_be_opened_may_come_back(tmp_path: Path) -> None:
    (tmp_path / "gieok.db").mkdir()
    with pytest.raises(StoreUnavailable) as raised:
        connect_database(f"sqlite:///{tmp_path / 'gieok.db'}")
    assert type(raised.value) is StoreUnavailable
    assert raised.value.retryable


@pytest.mark.parametrize("beside", [CHECKPOINTS, "gieok.db-wal"])
def test_an_empty_database_beside_data_does_not_begin_anew_by_itself(tmp_path: Path, beside: str) -> None:
    file = tmp_path / "gieok.db"
    file.touch()
    (tmp_path / beside).write_bytes(b"data")
    for _ in range(2):
        with pytest.raises(StoreEmptied, match=rf"0 bytes.*{beside}"):
            connect_database(f"sqlite:///{file}")
    assert file.stat().st_size == 0
    remove_empty(f"sqlite:///{file}")
    (tmp_path / "gieok.db-wal").unlink(missing_ok=True)
    engine, _ = connect_database(f"sqlite:///{file}")
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM session")).scalar() == 0
    engine.dispose()


def test_an_empty_database_alone_is_a_new_one_and_a_full_one_is_never_removed(tmp_path: Path) -> None:
    file, url = tmp_path / "gieok.db", f"sqlite:///{tmp_path / 'gieok.db'}"
    file.touch()
    connect_database(url)[0].dispose()
    (tmp_path / CHECKPOINTS).write_bytes(b"data")
    remove_empty(url)
    assert file.stat().st_size > 0
    connect_database(url)[0].dispose()
    file.unlink()  # whoever deletes it has said that it begins anew
    connect_database(url)[0].dispose()
    assert file.stat().st_size > 0


def test_only_postgresql_is_told_how_long_to_wait() -> None:
    """Other drivers take no such argument."""
    address = parse_database_url("postgres://h/d")
    assert _build_engine_options(address)["connect_args"] == {"connect_timeout": CONNECT_SECONDS}
    assert _build_engine_options(parse_database_url("postgres://h/d?connect_timeout=3"))["connect_args"] == {}
    assert _build_engine_options(parse_database_url("mssql+pyodbc://h/d"))["connect_args"] == {}
