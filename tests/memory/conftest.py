"""Real servers: the embedded one, one of its own on TCP, and a cluster of three; each started once per module."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis

import settings
from memory import Memory
from memory.link import Link
from memory.server import binary
from store import Store


def free_port() -> int:
    """A port whose cluster bus port (10,000 higher) exists too."""
    while True:
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            port = int(one.getsockname()[1])
        if port < 55_000:
            return port


@contextmanager
def valkey(folder: Path, port: int, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """A server on TCP, ready; without persistence unless asked."""
    command = [str(binary()), "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder), "--save", "", *options]
    with (folder / f"{port}.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    try:
        answers(port)
        yield process
    finally:
        process.kill()
        process.wait()


def answers(port: int, password: str | None = None) -> None:
    client = redis.Redis(port=port, password=password, protocol=2)
    until = time.monotonic() + 10
    while True:
        try:
            client.ping()
        except redis.ConnectionError:
            if time.monotonic() > until:
                raise
            time.sleep(0.02)
        else:
            client.close()
            return


@pytest.fixture(scope="module")
def tcp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that is not ours."""
    port = free_port()
    with valkey(tmp_path_factory.mktemp("valkey"), port):
        yield f"redis://127.0.0.1:{port}/0"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of an embedded server that one link keeps alive for the module."""
    path = tmp_path_factory.mktemp("m") / "memory"
    link = Link(None, path)
    assert link.wait(10), link.away
    yield path
    link.close()


@pytest.fixture(params=["embedded", "external"])
def link(request: pytest.FixtureRequest) -> Iterator[Link]:
    """A way to an empty Redis: the embedded one, then one by address."""
    if request.param == "embedded":
        made = Link(None, request.getfixturevalue("folder"))
    else:
        made = Link(request.getfixturevalue("tcp"), Path("unused"))
    assert made.wait(10), made.away
    made.run(lambda client: client.flushall())
    yield made
    made.close()


Opened = Callable[..., Memory]


@pytest.fixture
def opened(tcp: str, tmp_path: Path) -> Iterator[Opened]:
    """Opens memories over the server on TCP and one database; closes them at the end."""
    client = redis.Redis.from_url(tcp)
    client.flushall()
    client.close()
    made: list[tuple[Memory, Store]] = []

    def open_(wait: bool = True, **values: object) -> Memory:
        given = {"redis_url": tcp, "tenant": "acme", "data_dir": tmp_path / "data", **values}
        chosen = settings.load(_env_file=None, **given)
        store = Store(chosen.database)
        memory = Memory.open(chosen, store)
        made.append((memory, store))
        assert not wait or memory.wait(10), memory.away
        return memory

    yield open_
    for memory, store in made:
        memory.close()
        store.close()


@pytest.fixture
def memory(opened: Opened) -> Memory:
    return opened()
