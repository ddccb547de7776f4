"""A real cluster of three: one memory's keys live in one slot, so every change stays atomic there."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import redis

from memory.key import Scope
from memory.redis.link import Link
from memory.redis.server import find_server_binary
from memory.redis.working_memory import WorkingMemory
from memory.state import MemoryState, MemoryTurn
from tests.memory.conftest import answers, free_port, valkey
from tests.wait import until

WORKING = WorkingMemory(60_000)


@pytest.fixture(scope="module")
def ports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[int]]:
    chosen = [free_port() for _ in range(3)]
    options = ("--cluster-enabled", "yes", "--cluster-node-timeout", "2000")
    with ExitStack() as stack:
        for port in chosen:
            stack.enter_context(valkey(tmp_path_factory.mktemp("node"), port, *options))
        join(chosen)
        yield chosen


def join(ports: list[int]) -> None:
    nodes = [redis.Redis(port=port, protocol=2) for port in ports]
    bounds = [0, 5461, 10923, 16384]
    for index, node in enumerate(nodes):
        _do(node, "SET-CONFIG-EPOCH", index + 1)
        _do(node, "ADDSLOTSRANGE", bounds[index], bounds[index + 1] - 1)
        _do(nodes[0], "MEET", "127.0.0.1", ports[index])
    until(lambda: all("cluster_state:ok" in _info(node) and "known_nodes:3" in _info(node) for node in nodes))
    for node in nodes:
        node.close()


def _do(node: redis.Redis, *command: object) -> Any:
    return node.execute_command("CLUSTER", *command)  # type: ignore[no-untyped-call]


def _info(node: redis.Redis) -> str:
    answer = _do(node, "INFO")
    return answer.decode() if isinstance(answer, bytes) else "\n".join(f"{k}:{v}" for k, v in answer.items())


@pytest.fixture(params=["redis+cluster", "redis"])
def link(request: pytest.FixtureRequest, ports: list[int]) -> Iterator[Link]:
    """By the cluster's address, and by a plain one that turns out to be a node of a cluster."""
    made = Link(f"{request.param}://127.0.0.1:{ports[1]}", Path("unused"))
    assert made.wait(60), made.away
    yield made
    made.close()


@pytest.fixture
def sentinel(tcp: str, tmp_path: Path) -> Iterator[str]:
    """The address of a sentinel that watches the server on TCP."""
    port, master = free_port(), tcp.split(":")[2].split("/")[0]
    file = tmp_path / "sentinel.conf"
    file.write_text(f"port {port}\nsentinel monitor ours 127.0.0.1 {master} 1\n", "utf-8")
    command = [str(find_server_binary()), str(file), "--sentinel"]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, cwd=tmp_path) as process:
        answers(port)
        yield f"redis+sentinel://127.0.0.1:{port}/ours/3"
        process.kill()


def test_a_sentinel_leads_to_its_master(sentinel: str, tcp: str) -> None:
    scope, link = Scope("acme", "watched"), Link(sentinel, Path("unused"))
    assert link.wait(60), link.away
    link.quick(lambda client: WORKING.write(client, scope, state_of("q"), "1"))
    link.close()
    direct = redis.Redis.from_url(tcp.replace("/0", "/3"))
    assert direct.exists(*scope.keys) == 3
    direct.close()


def test_all_keys_of_a_memory_share_a_slot_and_memories_spread(link: Link) -> None:
    scopes = [Scope(f"tenant {number}", f"세션:{{{number}}}") for number in range(30)]
    slots = [{link.run(lambda client, key=key: client.keyslot(key)) for key in scope.keys} for scope in scopes]  # type: ignore[misc]
    assert all(len(each) == 1 for each in slots)
    assert len({next(iter(each)) // 5462 for each in slots}) == 3


def test_writing_reading_and_removing_work_on_every_node(link: Link) -> None:
    scopes = [Scope("acme", f"{link.where} {number}") for number in range(12)]
    for scope in scopes:
        state = state_of(scope.session)
        link.quick(lambda client, scope=scope, state=state: WORKING.write(client, scope, state, "1"))  # type: ignore[misc]
    for scope in scopes:
        found = link.quick(lambda client, scope=scope: WORKING.read(client, scope, "1"))  # type: ignore[misc]
        assert found == state_of(scope.session)
        link.run(lambda client, scope=scope: WORKING.remove(client, scope.tag))  # type: ignore[misc]
        assert link.run(lambda client, scope=scope: WORKING.read(client, scope, "1")) is None  # type: ignore[misc]


def state_of(question: str) -> MemoryState:
    return MemoryState(short=(MemoryTurn(1, question, "answer"),))
