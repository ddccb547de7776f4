"""One server per folder, whoever starts, dies or leaves; and nothing acknowledged is lost."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from multiprocessing.context import ForkServerProcess
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest
import redis

from memory.redis import server as module
from memory.redis.server import Server
from tests.memory import process
from tests.wait import until


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "memory"


@pytest.fixture
def server(folder: Path) -> Iterator[Server]:
    made = Server(folder)
    made.ensure()
    yield made
    made.close()


def client(server: Server) -> redis.Redis:
    return redis.Redis(unix_socket_path=str(server.socket), protocol=2)


def pid(server: Server) -> int:
    with contextlib.closing(client(server)) as each:
        return int(each.info("server")["process_id"])


def gone(number: int) -> bool:
    try:
        return "\nState:\tZ" in Path(f"/proc/{number}/status").read_text("utf-8")
    except OSError:
        return True


@contextlib.contextmanager
def user(folder: Path, wait: bool = True) -> Iterator[tuple[ForkServerProcess, Event]]:
    """Another process that uses the server, and the event that says that it does; killed at the end."""
    ready, leave = process.CONTEXT.Event(), process.CONTEXT.Event()
    started = process.start(process.use_server, folder, ready, leave)
    try:
        assert not wait or ready.wait(60)
        yield started, ready
    finally:
        started.kill()
        started.join()


def test_processes_share_one_server_and_it_outlives_the_one_that_started_it(folder: Path) -> None:
    with user(folder) as (first, _):
        other = Server(folder)
        other.ensure()
        number = pid(other)
        first.kill()
        first.join()
        time.sleep(2 * module.GRACE_SECONDS)
        assert pid(other) == number
        other.close()
    until(lambda: gone(number))


def test_it_stops_when_its_last_user_is_killed(folder: Path) -> None:
    with user(folder) as (only, _):
        number = pid(Server(folder))
        only.kill()
        until(lambda: gone(number))
    assert not (folder / "valkey.sock").exists()


def test_nothing_of_what_it_holds_is_written_to_disk(folder: Path) -> None:
    """All of it is a copy of rows in the database."""
    first = Server(folder)
    first.ensure()
    with contextlib.closing(client(first)) as each:
        each.set("kept", "Xanadu77")
    number = pid(first)
    first.close()
    until(lambda: gone(number))
    assert not [file for file in folder.rglob("*") if file.is_file() and b"Xanadu77" in file.read_bytes()]


def test_a_killed_server_is_started_again(server: Server) -> None:
    before = pid(server)
    os.kill(before, signal.SIGKILL)
    until(lambda: gone(before))
    server.ensure()
    assert pid(server) != before


def test_a_stale_socket_and_stale_lock_files_do_not_matter(folder: Path) -> None:
    folder.mkdir(parents=True)
    for name in ("valkey.sock", "server.lock", "users.lock"):
        (folder / name).write_text("left by somebody")
    made = Server(folder)
    made.ensure()
    assert pid(made) > 0
    made.close()


def test_a_second_keeper_starts_no_second_server(server: Server, folder: Path) -> None:
    number = pid(server)
    command = [sys.executable, "-I", "-S", str(Path(module.__file__).with_name("keeper.py")), str(folder), "1"]
    ended = subprocess.run([*command, str(module.find_server_binary()), "--port", "0"], timeout=60, check=False)
    assert ended.returncode == 0
    assert pid(server) == number


def test_many_starting_at_once_get_the_same_server(folder: Path) -> None:
    with contextlib.ExitStack() as stack:
        started = [stack.enter_context(user(folder, wait=False)) for _ in range(4)]
        assert all(ready.wait(60) for _, ready in started)
        servers = [
            line for line in (folder / "valkey.log").read_text("utf-8").splitlines() if "Ready to accept" in line
        ]
        assert len(servers) == 1


def test_a_long_path_has_its_socket_elsewhere(tmp_path: Path) -> None:
    made = Server(tmp_path / ("long" * 30) / "memory")
    made.ensure()
    assert len(str(made.socket)) < 100
    assert pid(made) > 0
    made.close()


def test_only_this_user_may_reach_the_socket(server: Server) -> None:
    assert server.socket.stat().st_mode & 0o077 == 0
