"""Real servers: the embedded one, one of its own on TCP, and a cluster of three; each started once."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import redis

import settings
from bench.port import free_port as free_port
from memory import Memory
from memory.redis import link as link_
from memory.redis.link import USER_SECONDS, Link, Patience
from memory.redis.server import find_server_binary
from store import Store
from tests.memory.conversation import TENANT, Conversations


@contextmanager
def valkey(folder: Path, port: int, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """A server on TCP, ready; without persistence unless asked."""
    command = [
        str(find_server_binary()),
        "--port",
        str(port),
        "--bind",
        "127.0.0.1",
        "--dir",
        str(folder),
        "--save",
        "",
        *options,
    ]
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
    until = time.monotonic() + 60
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


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine does not make memory away."""
    monkeypatch.setattr(link_, "USER_SECONDS", 10.0)


@pytest.fixture
def impatient(patient: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests that are about waiting for Redis: as impatient as the product."""
    monkeypatch.setattr(link_, "USER_SECONDS", USER_SECONDS)


@pytest.fixture(scope="session")
def tcp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that is not ours."""
    port = free_port()
    with valkey(tmp_path_factory.mktemp("valkey"), port):
        yield f"redis://127.0.0.1:{port}/0"


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of an embedded server that one link keeps alive."""
    path = tmp_path_factory.mktemp("m") / "memory"
    link = Link(None, path)
    assert link.wait(60), link.away
    yield path
    link.close()


@pytest.fixture(params=["embedded", "external"])
def link(request: pytest.FixtureRequest) -> Iterator[Link]:
    """A way to an empty Redis: the embedded one, then one by address."""
    if request.param == "embedded":
        made = Link(None, request.getfixturevalue("folder"))
    else:
        made = Link(request.getfixturevalue("tcp"), Path("unused"))
    assert made.wait(60), made.away
    made.run(lambda client: client.flushall())
    yield made
    made.close()


class Asked:
    """What users who wait had Redis asked from here on, without what side work asks: the patience of each command, in
    order, and how long each would have been waited for at most."""

    def __init__(self, link: Link, monkeypatch: pytest.MonkeyPatch) -> None:
        self.patience: list[Patience] = []
        self.seconds: list[float] = []
        self._within = link.within
        monkeypatch.setattr(link, "within", self._record)

    def _record(self, patience: Patience, command: Callable[..., Any], *args: Any, **named: Any) -> Any:
        if patience.left > 0 and threading.current_thread().name != "background":
            self.patience.append(patience)
            self.seconds.append(patience.left)
        return self._within(patience, command, *args, **named)


OpenMemory = Callable[..., Conversations]


@pytest.fixture
def opened(tcp: str, tmp_path: Path) -> Iterator[OpenMemory]:
    """Opens memories over the server on TCP and one database; closes them at the end."""
    client = redis.Redis.from_url(tcp)
    client.flushall()
    client.close()
    closing = ExitStack()

    def open_(wait: bool = True, **values: object) -> Conversations:
        given = {"redis_url": tcp, "tenant": TENANT, "data_dir": tmp_path / "data", **values}
        chosen = settings.load_settings(_env_file=None, **given)
        store = Store(chosen.database)
        closing.callback(store.close)
        memory = Memory.open(chosen, store)
        closing.callback(memory.close)
        assert not wait or memory.wait(60), memory.away
        return Conversations(memory, store, tenant=str(given["tenant"]))

    with closing:
        yield open_


@pytest.fixture
def talks(opened: OpenMemory) -> Conversations:
    return opened()
