"""What is erased is gone from the files, too: those of the embedded server and those of the database."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from memory import Memory
from memory.key import Scope
from tests.memory.conftest import Opened
from tests.memory.test_memory import fold, talk

SECRET = b"Rosebud-4711-Rosebud"


def files(folder: Path) -> list[str]:
    """Files that hold the secret, logs and all."""
    return [str(each) for each in folder.rglob("*") if each.is_file() and SECRET in each.read_bytes()]


def told(memory: Memory, folder: Path) -> None:
    """A memory that is folded and archived, with a secret in turns, versions and values."""
    memory.note_turn("acme", "s1", 1, f"My secret word is {SECRET.decode()}.", "Noted.")
    talk(memory, *range(2, 8))
    memory.remember("acme", "s1", "secret word", SECRET.decode(), turn=1)
    fold(memory)
    talk(memory, *range(8, 20))  # the turn leaves the newest state, its rows are written anew
    fold(memory)
    assert memory.settle(10)
    held = files(folder)
    assert any("gieok.db" in each for each in held)
    assert any("appendonly" in each for each in held)


def gone(folder: Path) -> bool:
    until = time.monotonic() + 8
    while files(folder):
        if time.monotonic() > until:
            return False
        time.sleep(0.05)  # Valkey removes an old file in a thread of its own
    return True


@pytest.mark.parametrize("whose", ["session", "user"])
def test_an_erasure_leaves_nothing_in_any_file(whose: str, opened: Opened, tmp_path: Path) -> None:
    memory = opened(redis_url=None)
    told(memory, tmp_path / "data")
    if whose == "session":
        memory.erase("acme", "s1")
    else:
        memory.erase_user("acme")
    assert memory.settle(10)
    assert gone(tmp_path / "data"), files(tmp_path / "data")


def test_an_erasure_is_complete_when_the_memory_is_closed_at_once(opened: Opened, tmp_path: Path) -> None:
    """As the command line does."""
    memory = opened(redis_url=None)
    told(memory, tmp_path / "data")
    memory.erase_user("acme")
    memory.close()
    assert gone(tmp_path / "data"), files(tmp_path / "data")


def test_what_was_erased_while_the_server_was_away_leaves_its_files_when_it_is_back(
    opened: Opened, tmp_path: Path
) -> None:
    memory = opened(redis_url=None)
    told(memory, tmp_path / "data")
    memory.close()
    away = opened(redis_url="redis://127.0.0.1:1", wait=False)
    away.erase("acme", "s1")
    away.close()
    back = opened(redis_url=None)
    assert back.settle(10)
    assert gone(tmp_path / "data"), files(tmp_path / "data")


@pytest.mark.parametrize("slow", ["save", "restore"])
def test_a_slow_writer_brings_nothing_back_that_is_erased_meanwhile(
    slow: str, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer has looked for an erasure, or has read what it writes, before the erasure begins."""
    memory = opened()
    talk(memory, 1, 2, 3)
    assert memory.settle(10)
    archive, redis, scope = memory._archive, memory._redis, Scope("acme", "s1")
    kept = archive.load(scope)
    assert kept is not None
    erasing = Thread(target=memory.erase, args=("acme", "s1"))

    def begin(seconds: float) -> None:
        erasing.start()
        erasing.join(seconds)

    if slow == "save":
        look = archive._erased_after

        def erased_after(*values: Any) -> bool:
            found = look(*values)
            begin(0.5)
            return found

        monkeypatch.setattr(archive, "_erased_after", erased_after)
        archive.save(scope, replace(kept[0], revision=kept[0].revision + 1), kept[1], "local")
    else:
        load = archive.load

        def loaded(scope: Scope) -> Any:
            found = load(scope)
            monkeypatch.undo()
            begin(5)
            return found

        monkeypatch.setattr(archive, "load", loaded)
        memory._link.run(lambda client: archive.restore(client, redis, scope))
    erasing.join(10)
    assert not erasing.is_alive()
    assert archive.load(scope) is None
    assert not memory._link.run(lambda client: redis.revision(client, scope))
