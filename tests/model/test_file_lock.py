"""Locks of files: who holds one, and who only looks."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from model import file_lock
from model.embedded import llama_server
from model.file_lock import is_lock_held, open_lock, try_lock


def test_a_look_at_a_free_lock_makes_no_other_looker_say_that_it_is_held(tmp_path: Path) -> None:
    lock = tmp_path / "server.lock"
    looking = open_lock(lock)
    assert try_lock(looking, fcntl.LOCK_SH)
    assert not is_lock_held(lock)
    os.close(looking)


def test_a_lock_is_held_until_its_holder_lets_go(tmp_path: Path) -> None:
    lock = tmp_path / "server.lock"
    assert not is_lock_held(lock)
    holding = open_lock(lock)
    assert try_lock(holding)
    assert is_lock_held(lock)
    os.close(holding)
    assert not is_lock_held(lock)


def test_two_looks_at_once_at_the_lock_of_a_dead_server_find_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, found = tmp_path / "server.lock", list[bool]()
    lock.write_text("1")

    def look_within(descriptor: int, kind: int = fcntl.LOCK_EX) -> bool:
        """Takes the lock; while it is taken, another looker looks, once."""
        monkeypatch.setattr(file_lock, "try_lock", try_lock)
        taken = try_lock(descriptor, kind)
        found.append(llama_server._is_server_process(lock, 1))
        return taken

    monkeypatch.setattr(file_lock, "try_lock", look_within)
    found.append(llama_server._is_server_process(lock, 1))
    assert found == [False, False]
