"""One memory whose keys cannot be read keeps nobody from the others."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
import redis

from memory.key import Scope
from tests.memory.conftest import Opened, free_port, valkey
from tests.memory.test_memory import talk

KEYS = {"another kind": "short", "no JSON": "entities", "no object": "meta"}


def spoil(url: str, how: str) -> None:
    """Make the memory of «s1» unreadable."""
    key = Scope("acme", "s1").key(KEYS[how])
    with redis.Redis.from_url(url) as client:
        if how == "no object":
            client.hset(key, "data", "[1, 2")
            return
        client.delete(key)
        client.set(key, "} no JSON") if how == "no JSON" else client.hset(key, "a", "b")


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("how", KEYS)
def test_what_waits_for_it_holds_up_nothing(how: str, opened: Opened, tmp_path: Path) -> None:
    port = free_port()
    url = f"redis://127.0.0.1:{port}"
    with valkey(tmp_path, port) as process:
        memory = opened(redis_url=url)
        talk(memory, 1)
        memory.settle(10)
        spoil(url, how)
        os.kill(process.pid, signal.SIGSTOP)
        talk(memory, 2)
        talk(memory, 1, session="s2")
        os.kill(process.pid, signal.SIGCONT)
        assert memory.wait(10), memory.away
        assert [turn.number for turn in memory.context("acme", "s2").short] == [1]
        assert memory.settle(10)


@pytest.mark.parametrize("how", KEYS)
def test_the_others_are_still_looked_through(how: str, opened: Opened, tmp_path: Path) -> None:
    port = free_port()
    url = f"redis://127.0.0.1:{port}"
    with valkey(tmp_path, port):
        first = opened(redis_url=url, data_dir=tmp_path / "one")
        for number in range(1, 5):
            talk(first, 1, session=f"s{number}")
        spoil(url, how)
        second = opened(redis_url=url, data_dir=tmp_path / "two")  # another database: all differ from its archive
        assert second.settle(10)
        kept = {scope.session for scope, *_ in second._archive.scopes("acme")}
        assert kept >= {"s2", "s3", "s4"}
        assert second.settle(10), "the thread that looks lives"
