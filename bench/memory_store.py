"""Long-term memory: microseconds per store operation over both sockets, milliseconds per turn that the user waits."""

from __future__ import annotations

import argparse
import contextlib
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from memory import Memory
from memory.key import Scope
from memory.redis.link import Link
from memory.redis.redis_store import RedisStore
from memory.redis.server import binary
from memory.state import Entity, MemoryTurn, State, Version, put
from model.scripted import models
from settings import Settings, current
from store import Store

SCOPE = Scope("bench", "session")
TEXT = "\n".join(
    f"The user said that item {number} costs ${number * 125} and is due on May {number}." for number in range(1, 21)
)
READY_SECONDS = 20.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of this bench."""
    parser.add_argument("--rounds", type=int, default=1000, help="how often each operation is measured")
    parser.add_argument("--turns", type=int, default=200, help="turns of the session whose user waits")


def run(args: argparse.Namespace) -> dict[str, object]:
    """Measures the store and a session. ``turn_p95_ms``: the time that reading the context and noting the turn add to a
    turn, over the embedded server, with archiving."""
    with tempfile.TemporaryDirectory(prefix="gieok-bench-") as folder, _tcp(Path(folder)) as url:
        rows = [
            *_operations("unix", None, Path(folder) / "memory", args.rounds),
            *_operations("tcp", url, Path(folder) / "none", args.rounds),
        ]
        return {**_turn(Path(folder) / "data", args.turns), "operations": rows}


def _operations(kind: str, url: str | None, folder: Path, rounds: int) -> list[dict[str, object]]:
    """Returns the microseconds to read a memory with five turns and 25 entities, to append a turn, and to swap in a new
    memory."""
    link, store = Link(url, folder), RedisStore(86_400_000)
    with contextlib.closing(link):
        link.wait(READY_SECONDS)
        link.run(lambda client: _fill(client, store))
        works: dict[str, Callable[[Any, int], object]] = {
            "read_all": lambda client, at: store.read(client, SCOPE),
            "append_turn": lambda client, at: store.append_turn(client, SCOPE, _said(at + 6)),
            "swap": lambda client, at: store.swap(client, SCOPE, _version(at), lambda state: _folded(state, at), 1),
        }
        return [{"socket": kind, "operation": name, **_timed(link, work, rounds)} for name, work in works.items()]


def _turn(folder: Path, turns: int) -> dict[str, object]:
    settings = Settings(**{**current().model_dump(), "data_dir": folder, "redis_url": None, "database_url": None})
    store = Store(settings.database)
    memory = Memory.open(settings, store)
    milliseconds, writer = [], models(utility=lambda messages: TEXT)
    try:
        memory.wait(READY_SECONDS)
        for number in range(1, turns + 1):
            begun = time.perf_counter()
            memory.context("bench", "turns", "en")
            memory.note_turn("bench", "turns", number, "q" * 80, "a" * 600)
            milliseconds.append((time.perf_counter() - begun) * 1000)
            for due in memory.due("bench", "turns"):
                memory.fold("bench", due.session, models=writer)
            time.sleep(0.02)  # a user takes longer; the archive writes meanwhile
    finally:
        memory.close()
        store.close()
    return {"turn_p50_ms": _at(milliseconds, 0.5), "turn_p95_ms": _at(milliseconds, 0.95), "turns": turns}


def _fill(client: Any, store: RedisStore) -> None:
    store.erase(client, SCOPE)
    for number in range(1, 6):
        store.append_turn(client, SCOPE, _said(number))
    entities: tuple[Entity, ...] = ()
    for number in range(25):
        entities = put(entities, Entity(f"item {number}", f"${number * 125}", number))
    store.change(client, SCOPE, lambda state: replace(state, text=TEXT, entities=entities))
    client.hset(SCOPE.key("meta"), "token", "1")


def _said(number: int) -> MemoryTurn:
    return MemoryTurn(number, f"{number} " + "q" * 80, "a" * 600)


def _version(at: int) -> Version:
    return Version(at + 1, f"{at}\n{TEXT}", "fold", time.time(), turns=tuple(_said(number) for number in range(1, 6)))


def _folded(state: State, at: int) -> State:
    """Returns a new memory in which all waiting turns are folded, so that the next round finds five turns again."""
    return replace(state, text=f"{at}\n{TEXT}", short=state.short[-5:], folded=((1, state.newest),))


def _timed(link: Link, work: Callable[[Any, int], object], rounds: int) -> dict[str, float]:
    microseconds = []
    for at in range(rounds):
        if at % 50 == 0:  # refilled, because ``State.short`` grows with every unfolded turn
            link.run(lambda client: _fill(client, RedisStore(0)))
        begun = time.perf_counter()
        link.run(lambda client, at=at: work(client, at))  # type: ignore[misc]
        microseconds.append((time.perf_counter() - begun) * 1_000_000)
    return {"p50_us": _at(microseconds, 0.5), "p95_us": _at(microseconds, 0.95)}


def _at(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


@contextlib.contextmanager
def _tcp(folder: Path) -> Iterator[str]:
    """Runs a server of the same build, also with an append-only file, on a TCP port of this machine; yields its URL."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    command = [str(binary()), "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder), "--save", ""]
    quiet = subprocess.DEVNULL
    server = subprocess.Popen([*command, "--appendonly", "yes"], stdin=quiet, stdout=quiet, stderr=quiet)
    try:
        yield f"redis://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()
