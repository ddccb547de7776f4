"""Long-term memory: microseconds per store operation over both sockets, milliseconds per turn that the user waits."""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench.port import free_port
from memory import Memory
from memory.key import Scope
from memory.redis.link import Link
from memory.redis.server import find_server_binary
from memory.redis.working_memory import WorkingMemory
from memory.state import Kind, MemoryLine, MemoryState, MemoryTurn
from model.scripted import build_scripted_models
from settings import Settings, load_current_settings
from store import Store
from store.record import GivenTurn

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
    """Measures the working memory, and a session. ``turn_p95_ms``: the time that memory adds to a turn: reading it,
    from the copy in Redis or from the rows, and noting whose session it is; ``rows_p95_ms``: the same without Redis."""
    with tempfile.TemporaryDirectory(prefix="gieok-bench-") as folder, _tcp(Path(folder)) as url:
        rows = [
            *_operations("unix", None, Path(folder) / "memory", args.rounds),
            *_operations("tcp", url, Path(folder) / "none", args.rounds),
        ]
        away = "redis://127.0.0.1:1"
        with_redis, without = (_turn(Path(folder) / str(at), args.turns, at) for at in (None, away))
        named = {"rows_p50_ms": without["turn_p50_ms"], "rows_p95_ms": without["turn_p95_ms"]}
        return {**with_redis, **named, "operations": rows}


def _operations(kind: str, url: str | None, folder: Path, rounds: int) -> list[dict[str, object]]:
    """Returns the microseconds to read and to write the copy of a memory with five turns and 25 entities."""
    link, working, state = Link(url, folder), WorkingMemory(86_400_000), _full()
    with contextlib.closing(link):
        link.wait(READY_SECONDS)
        works: dict[str, Callable[[Any], object]] = {
            "write": lambda client: working.write(client, SCOPE, state, "1"),
            "read": lambda client: working.read(client, SCOPE, "1"),
        }
        return [{"socket": kind, "operation": name, **_timed(link, work, rounds)} for name, work in works.items()]


def _turn(folder: Path, turns: int, url: str | None) -> dict[str, object]:
    settings = Settings(
        **{**load_current_settings().model_dump(), "data_dir": folder, "redis_url": url, "database_url": None}
    )
    store = Store(settings.database)
    memory, session = Memory.open(settings, store), store.create_session("en", 0.3).id
    milliseconds, writer = [], build_scripted_models(utility=lambda messages: TEXT)
    try:
        memory.wait(READY_SECONDS if url is None else 0.5)
        for number in range(1, turns + 1):
            begun = time.perf_counter()
            memory.reader.read_view("bench", session, "en")
            memory.writer.open_session("bench", session)
            milliseconds.append((time.perf_counter() - begun) * 1000)
            store.tree.give(session, number, [GivenTurn("q" * 80, "a" * 600, 200)], time.time())
            memory.folds.run("bench", session, models=writer)
            memory.reader.fill_copy("bench", session)  # as after every answer, when nobody waits
    finally:
        memory.close()
        store.close()
    return {"turn_p50_ms": _at(milliseconds, 0.5), "turn_p95_ms": _at(milliseconds, 0.95), "turns": turns}


def _full() -> MemoryState:
    """Returns a memory with twenty sentences, 25 entities and five turns."""
    lines = [_line(at, "sentence", text) for at, text in enumerate(TEXT.splitlines(), 1)]
    entities = [_line(100 + at, "entity", f"${at * 125}", f"item {at}") for at in range(25)]
    short = [MemoryTurn(number, f"{number} " + "q" * 80, "a" * 600) for number in range(1, 6)]
    return MemoryState(version=1, lines=tuple(lines), entities=tuple(entities), short=tuple(short))


def _line(number: int, kind: Kind, text: str, key: str = "") -> MemoryLine:
    return MemoryLine(number, SCOPE.session, kind, 0, 1, 0.0, "user", key, text)


def _timed(link: Link, work: Callable[[Any], object], rounds: int) -> dict[str, float]:
    microseconds = []
    for _ in range(rounds):
        begun = time.perf_counter()
        link.run(work)
        microseconds.append((time.perf_counter() - begun) * 1_000_000)
    return {"p50_us": _at(microseconds, 0.5), "p95_us": _at(microseconds, 0.95)}


def _at(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


@contextlib.contextmanager
def _tcp(folder: Path) -> Iterator[str]:
    """Runs a server of the same build on a TCP port of this machine; yields its URL."""
    port = free_port()
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
    ]
    quiet = subprocess.DEVNULL
    server = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet)
    try:
        yield f"redis://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()
