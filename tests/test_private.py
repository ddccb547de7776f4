"""What Gieok writes is its user's alone, also what an earlier version left open."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

import private
from door.terminal.memory import export_memory_file
from graph.turn.agent import open_agent
from memory import Memory
from memory.redis.server import Server
from model import scripted
from model.file_lock import open_lock
from retrieval import Library
from retrieval.index.index_file import publish_index_file, verify_index_file
from settings import load_settings
from store import Store


@pytest.fixture(autouse=True)
def generous() -> Iterator[None]:
    """The umask of most systems, whatever it is here."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def readable(folder: Path) -> list[str]:
    """Everything in the folder, and itself, that others may read, write or enter."""
    found = [folder, *folder.rglob("*")]
    return [f"{path} {path.stat().st_mode:o}" for path in found if path.stat().st_mode & 0o077]


def opened(path: Path) -> None:
    """As a version before this one would have left it."""
    for each in (path, *path.rglob("*")):
        each.chmod(0o755 if each.is_dir() else 0o644)


def chat(folder: Path) -> None:
    """A conversation of a turn, ended."""
    models = scripted.build_scripted_models(lambda _: "Yes.", lambda _: "A summary.")
    agent = open_agent(load_settings(data_dir=folder), lambda: models)
    session = agent.store.create_session("en", 0.3)
    list(agent.run(session.id, "Hello"))
    assert readable(folder) == []  # while the databases are open, with their journals
    agent.close()


def test_a_data_folder_is_its_users_alone(tmp_path: Path) -> None:
    folder = tmp_path / "above" / "data"
    chat(folder)
    assert readable(tmp_path / "above") == []


def test_one_of_an_earlier_version_is_shut_when_it_is_opened(tmp_path: Path) -> None:
    chat(tmp_path / "data")
    opened(tmp_path / "data")
    reader = sqlite3.connect(tmp_path / "data" / "gieok.db")
    reader.execute("SELECT count(*) FROM session")  # keeps the journal there
    (tmp_path / "data" / "gieok.db-shm").chmod(0o644)
    chat(tmp_path / "data")
    reader.close()


def test_a_database_elsewhere_is_shut_and_its_folder_left(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    url = f"sqlite:///{tmp_path / 'own.db'}"
    Store(url).close()
    opened(tmp_path)
    store = Store(url)
    assert readable(tmp_path) == [f"{tmp_path} 40755"]
    store.close()


def test_files_of_an_index_are_its_users_alone(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "library"
    with publish_index_file(folder / "dense-1.faiss") as part:
        part.write_bytes(b"vectors")
    assert readable(tmp_path / "data") == []
    opened(tmp_path / "data")
    store = Store(load_settings(data_dir=tmp_path / "data").database)
    Library.open(load_settings(data_dir=tmp_path / "data"), store).close()
    store.close()
    assert readable(tmp_path / "data") == []
    with verify_index_file(folder / "dense-1.faiss"):
        pass


def test_what_the_memorys_server_writes_is_its_users_alone(tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    server = Server(folder)
    server.ensure()
    server.close()
    assert (folder / "valkey.log").exists()
    assert readable(folder) == []


def test_what_it_wrote_before_is_shut(tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    (folder / "appendonlydir").mkdir(parents=True)
    (folder / "appendonlydir" / "old").touch()
    (folder / "valkey.log").touch()
    opened(folder)
    server = Server(folder)
    server.ensure()
    assert readable(folder) == []
    server.close()


def test_an_export_over_a_file_that_all_could_read_is_its_users_alone(tmp_path: Path) -> None:
    file = tmp_path / "memory.json"
    file.write_text("old " * 1000)
    file.chmod(0o644)
    assert export_memory_file(load_settings(data_dir=tmp_path / "data", memory=True), file) == 0
    assert readable(file) == []
    assert json.loads(file.read_text("utf-8"))["memories"] == []
    assert readable(tmp_path / "data") == []


def test_opening_memory_alone_shuts_the_data_folder(tmp_path: Path) -> None:
    settings = load_settings(data_dir=tmp_path / "data")
    store = Store(settings.database)
    opened(tmp_path / "data")
    Memory.open(settings, store).close()
    store.close()
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700


def test_a_lock_is_the_first_to_make_the_folder(tmp_path: Path) -> None:
    os.close(open_lock(tmp_path / "data" / "weights" / "one.lock"))
    assert readable(tmp_path / "data") == []


def test_a_shared_folder_and_what_a_link_leads_to_are_left(tmp_path: Path) -> None:
    shared, foreign = tmp_path / "shared", tmp_path / "foreign"
    shared.mkdir()
    shared.chmod(0o1777)
    foreign.touch(0o644)
    (shared / "link").symlink_to(foreign)
    private.restrict_folder_to_owner(shared)
    assert stat.S_IMODE(shared.stat().st_mode) == 0o1777
    assert stat.S_IMODE(foreign.stat().st_mode) == 0o644


def test_a_file_that_is_gone_is_no_error(tmp_path: Path) -> None:
    private.restrict_to_owner(tmp_path / "gone")
    private.restrict_folder_to_owner(tmp_path / "gone")
    assert not (tmp_path / "gone").exists()
