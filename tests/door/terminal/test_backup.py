"""A backup that is taken while conversations go on, and what comes back from it."""

from __future__ import annotations

import sqlite3
import stat
import threading
import zipfile
from pathlib import Path

import pytest

import private
from door.terminal.backup import FORM, back_up, restore_backup
from errors import BackupTaken, BadBackup, FileTaken, NotSqlite
from model.choice.kept import KEY_FILE
from settings import Settings, load_settings
from store import Store
from store.record import GivenTurn


def open_settings(folder: Path) -> Settings:
    return load_settings(data_dir=folder)


def say(store: Store, session: str, text: str) -> None:
    number = store.session(session).turn_count + 1
    store.tree.give(session, number, [GivenTurn(text, "Noted.", 20)], 1.0)


@pytest.fixture
def here(tmp_path: Path) -> Settings:
    chosen = open_settings(tmp_path / "here")
    store = Store(chosen.database).of("me")
    session = store.create_session("en", 0.3, session_id="first").id
    say(store, session, "My dog is called Bori.")
    (chosen.data_dir / "mcp.json").write_text("{}")
    (chosen.data_dir / KEY_FILE).write_text("secret")
    (chosen.data_dir / "weights").mkdir()
    (chosen.data_dir / "weights" / "model.gguf").write_text("large")
    (chosen.data_dir / "world").mkdir()
    (chosen.data_dir / "world" / "map.md").write_text("A map.")
    return chosen


def test_everything_comes_back_elsewhere_but_the_key_and_what_comes_anew(here: Settings, tmp_path: Path) -> None:
    file, there = tmp_path / "gieok.zip", open_settings(tmp_path / "there")
    assert back_up(here, file) == file.stat().st_size
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    restore_backup(there, file)
    assert [turn.question for turn in Store(there.database).of("me").turns("first")] == ["My dog is called Bori."]
    assert (there.data_dir / "world" / "map.md").read_text() == "A map."
    assert (there.data_dir / "mcp.json").exists()
    assert not (there.data_dir / KEY_FILE).exists()
    assert not (there.data_dir / "weights").exists()
    assert [path.name for path in there.data_dir.iterdir() if path.name.startswith(".")] == []


def test_it_may_be_taken_while_others_write(here: Settings, tmp_path: Path) -> None:
    store, ended = Store(here.database).of("me"), threading.Event()

    def write() -> None:
        while not ended.is_set():
            say(store, "first", "And one more thing.")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for number in range(5):
            back_up(here, tmp_path / f"{number}.zip")
    finally:
        ended.set()
        writer.join()
    for number in range(5):
        there = open_settings(tmp_path / f"there-{number}")
        restore_backup(there, tmp_path / f"{number}.zip")
        copy = Store(there.database).of("me")
        assert len(copy.turns("first", limit=100_000)) == copy.session("first").turn_count


def test_no_file_and_no_conversation_is_replaced(here: Settings, tmp_path: Path) -> None:
    file = tmp_path / "gieok.zip"
    back_up(here, file)
    with pytest.raises(FileTaken):
        back_up(here, file)
    with pytest.raises(BackupTaken):
        restore_backup(here, file)


@pytest.mark.parametrize("place", ["elsewhere/mine.sqlite", "here/mine.db", "elsewhere/gieok.db"])
def test_a_sqlite_file_of_the_users_own_is_backed_up_and_comes_back_where_the_settings_say(
    tmp_path: Path, place: str
) -> None:
    (tmp_path / "elsewhere").mkdir()
    own = load_settings(data_dir=tmp_path / "here", database_url=f"sqlite:///{tmp_path / place}")
    store = Store(own.database).of("me")
    say(store, store.create_session("en", 0.3, session_id="first").id, "My dog is called Bori.")
    private.make_folder(own.data_dir)
    (own.data_dir / "mcp.json").write_text("{}")
    if place.startswith("elsewhere"):
        Store(open_settings(own.data_dir).database)  # that of an earlier use, which is not in use
    back_up(own, tmp_path / "gieok.zip")
    with pytest.raises(BackupTaken):
        restore_backup(replace_folder(own, tmp_path / "empty"), tmp_path / "gieok.zip")
    moved = load_settings(data_dir=tmp_path / "there", database_url=f"sqlite:///{tmp_path / 'far' / 'other.db'}")
    for there in (moved, open_settings(tmp_path / "plain")):
        restore_backup(there, tmp_path / "gieok.zip")
        assert [turn.question for turn in Store(there.database).of("me").turns("first")] == ["My dog is called Bori."]
        assert (there.data_dir / "mcp.json").exists()
    assert (tmp_path / "far" / "other.db").exists()
    assert not list(moved.data_dir.glob("*.db"))


def replace_folder(chosen: Settings, folder: Path) -> Settings:
    return chosen.model_copy(update={"data_dir": folder})


def test_a_server_is_backed_up_by_its_own_tools(tmp_path: Path) -> None:
    chosen = load_settings(data_dir=tmp_path, database_url="postgresql://localhost/gieok")
    with pytest.raises(NotSqlite):
        back_up(chosen, tmp_path / "gieok.zip")
    with pytest.raises(NotSqlite):
        restore_backup(chosen, tmp_path / "gieok.zip")
    assert list(tmp_path.glob("gieok*")) == []


@pytest.mark.parametrize("name", ["../evil.db", "/etc/evil", "a/../../evil", KEY_FILE, "weights/x", "a\\..\\evil"])
def test_a_file_that_would_lie_elsewhere_keeps_out_all(tmp_path: Path, name: str) -> None:
    file, there = tmp_path / "evil.zip", open_settings(tmp_path / "there")
    with zipfile.ZipFile(file, "w") as archive:
        archive.comment = FORM.encode()
        archive.writestr("mcp.json", "{}")
        archive.writestr(name, "x")
    with pytest.raises(BadBackup):
        restore_backup(there, file)
    assert list(there.data_dir.iterdir()) == []


@pytest.mark.parametrize("damage", ["no zip", "another zip", "a byte", "a database"])
def test_a_damaged_backup_changes_nothing(here: Settings, tmp_path: Path, damage: str) -> None:
    file, there = tmp_path / "gieok.zip", open_settings(tmp_path / "there")
    back_up(here, file)
    if damage == "no zip":
        file.write_bytes(b"hello")
    elif damage == "another zip":
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("a.txt", "a")
    elif damage == "a byte":
        content = bytearray(file.read_bytes())
        content[len(content) // 3] ^= 0xFF
        file.write_bytes(content)
    else:
        with zipfile.ZipFile(file, "w") as archive:
            archive.comment = FORM.encode()
            archive.writestr("gieok.db", b"SQLite format 3\0" + b"x" * 5000)
    with pytest.raises(BadBackup):
        restore_backup(there, file)
    assert list(there.data_dir.iterdir()) == []


def test_a_damaged_database_is_told_and_leaves_no_file(here: Settings, tmp_path: Path) -> None:
    database = here.data_dir / "gieok.db"
    with sqlite3.connect(database) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    content = bytearray(database.read_bytes())
    content[4096 * 3 : 4096 * 12] = b"\xff" * (4096 * 9)
    database.write_bytes(content)
    with pytest.raises(BadBackup):
        back_up(here, tmp_path / "gieok.zip")
    assert list(tmp_path.glob("gieok*")) == []
    assert not list(here.data_dir.glob(".backup*"))
