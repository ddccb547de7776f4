"""The embedded model: one llama.cpp server process per user and configuration, shared by all app processes (design §9).

The folder ``data_dir/embedded/<configuration>`` holds what they agree by: ``start.lock`` (who starts the server),
``server.lock`` (held by the server while it lives), ``clients.lock`` (shared by every client while it lives) and
``state.json`` (address, key, pid). Locks are ``flock``: Linux and macOS; on Windows, use WSL.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import hashlib
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import psutil

from errors import EmbeddedFailed, MissingExtra
from model.lock import exclusive, held, open_lock, written
from settings import Settings, child_environment

CALM = {"GOMP_SPINCOUNT": "1000"}
"""For the server's environment; the user's own comes first. llama.cpp's threads wait for each other at some hundred
places of every token, by GNU OpenMP, and unless told otherwise they spin there for milliseconds. Beside busy processes
they burn the very time that the thread they wait for needs: 31 tokens a second idle, 0.5 to 10 beside a busy process.
When they sleep after 1,000 rounds: 27 to 30, and 12 to 15 beside one or two (docs/decision/0016-one-slot.md).
"""
START_SECONDS = 300.0
_ROOT = Path(__file__).resolve().parent.parent
_clients: dict[Path, int] = {}
_checked: set[Embedded] = set()
_started: list[subprocess.Popen[bytes]] = []
_guard = threading.Lock()


@dataclass(frozen=True)
class Embedded:
    """A running server. ``url``: up to and including ``/v1``; ``log``: what its process prints."""

    url: str
    key: str
    pid: int
    log: Path


@dataclass(frozen=True)
class _Plan:
    """The configuration of a server; equal plans share one process."""

    folder: Path
    log: Path
    weights: Path
    name: str
    context: int
    threads: int
    states: Path

    @property
    def state(self) -> Path:
        return self.folder / "state.json"

    @property
    def server(self) -> Path:
        return self.folder / "server.lock"

    def command(self) -> list[str]:
        given = {"context": self.context, "threads": self.threads, "states": self.states}
        options = [part for name, value in given.items() for part in (f"--{name}", str(value))]
        return [sys.executable, "-m", "model.serve", str(self.folder), str(self.weights), "--name", self.name, *options]


def connect(settings: Settings, path: Path) -> Embedded:
    """The server for these weights, started when it does not run; this process is a client of it until it ends.

    Cheap when it runs (well under a millisecond after the first time): call it before each request, and a server that
    died is replaced, at the same address with the same key when that is still free. Blocks while the model loads.
    Raises ``EmbeddedFailed`` with the reason and the log.
    """
    plan = _plan(settings, path)
    with written(plan.folder):
        _join(plan.folder)
        running = _running(plan)
        if running is not None:
            return running
        with exclusive(plan.folder / "start.lock"):
            return _running(plan) or _start(plan)


def release() -> None:
    """Stop being a client of any server; each ends by itself when it has no other clients."""
    with _guard:
        while _clients:
            os.close(_clients.popitem()[1])


def threads(settings: Settings) -> int:
    """The setting, or the number of physical cores, at most 8."""
    return settings.embedded_threads or min(psutil.cpu_count(logical=False) or os.cpu_count() or 1, 8)


def name(settings: Settings) -> str:
    """What the model is called: its name in the catalogue, or that of the user's own file."""
    return settings.embedded_model if settings.embedded_path is None else settings.embedded_path.stem


def states(settings: Settings) -> Path:
    """The folder of saved slot states, for all configurations."""
    return settings.data_dir.resolve() / "embedded" / "prefix"


def _plan(settings: Settings, path: Path) -> _Plan:
    path = path.resolve()
    size, count, context = path.stat().st_size, threads(settings), settings.embedded_context
    short = hashlib.sha256(repr((str(path), size, context, count)).encode()).hexdigest()[:12]
    data = settings.data_dir.resolve()
    log = data / "log" / f"embedded-{short}.log"
    return _Plan(data / "embedded" / short, log, path, name(settings), context, count, states(settings))


def _join(folder: Path) -> None:
    """Hold the shared clients' lock for the rest of this process's life; waits while a server is just ending."""
    with _guard:
        if folder not in _clients:
            descriptor = open_lock(folder / "clients.lock")
            fcntl.flock(descriptor, fcntl.LOCK_SH)
            _clients[folder] = descriptor


def _running(plan: _Plan) -> Embedded | None:
    """The server that the state file names, when that process lives and, asked once, answers and takes the key."""
    try:
        state = json.loads(plan.state.read_text())
        found = Embedded(state["url"], state["key"], state["pid"], plan.log)
    except (OSError, ValueError, KeyError):
        return None
    if not held(plan.server) or plan.server.read_text() != str(found.pid):
        return None
    if found not in _checked:
        if not _answers(found):
            return None
        _checked.add(found)
    return found


def _answers(found: Embedded) -> bool:
    """Whether /health is fine and the key is taken. One that is only slow to answer lives: it is busy."""
    headers = {"Authorization": f"Bearer {found.key}"}
    try:
        with httpx2.Client(timeout=10.0, trust_env=False) as client:
            health = client.get(found.url.removesuffix("/v1") + "/health")
            models = client.get(found.url + "/models", headers=headers)
    except httpx2.TimeoutException:
        return True
    except httpx2.TransportError:
        return False
    return health.status_code == 200 and models.status_code == 200


def _start(plan: _Plan) -> Embedded:
    """Start the server and wait until it is ready; the caller holds ``start.lock``."""
    if importlib.util.find_spec("xllamacpp") is None:
        raise MissingExtra(feature="The embedded model", package="xllamacpp")
    _end_deaf(plan)
    process = _spawn(plan)
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise EmbeddedFailed(name=plan.name, **_reason(process.returncode, plan.log), log=str(plan.log))
        found = _running(plan)
        if found is not None:
            return found
        time.sleep(0.05)
    process.kill()
    process.wait()
    late = {"reason": f"it was not ready after {START_SECONDS:g} s", "reason_code": "late", "seconds": START_SECONDS}
    raise EmbeddedFailed(name=plan.name, **late, log=str(plan.log))


def _end_deaf(plan: _Plan) -> None:
    """A server that lives but does not answer, or whose starter died while it was loading, is ended."""
    if not held(plan.server):
        return
    with contextlib.suppress(OSError, ValueError):
        os.kill(int(plan.server.read_text()), signal.SIGKILL)
    deadline = time.monotonic() + 10
    while held(plan.server) and time.monotonic() < deadline:
        time.sleep(0.05)


def _spawn(plan: _Plan) -> subprocess.Popen[bytes]:
    """The server process, in a session of its own, so that Ctrl-C in a terminal does not reach it."""
    plan.log.parent.mkdir(parents=True, exist_ok=True)
    if plan.log.exists():
        plan.log.replace(plan.log.with_suffix(".log.old"))
    environment = CALM | child_environment()
    with plan.log.open("wb") as out:
        process = subprocess.Popen(
            plan.command(), cwd=_ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            start_new_session=True,
        )  # fmt: skip
    _started[:] = [child for child in _started if child.poll() is None] + [process]
    return process


@atexit.register
def _leave() -> None:
    """A server outlives the process that started it: spare it ``Popen``'s warning about a child that still runs."""
    for child in _started:
        child.returncode = child.poll() or 0


def _reason(code: int, path: Path) -> dict[str, Any]:
    """Why the process ended, as values of an error: its first error line, in its words, or how it ended."""
    if code == -signal.SIGKILL:
        return {"reason": "its process was killed, probably because memory ran out", "reason_code": "killed"}
    for line in path.read_text(errors="replace").splitlines():
        if said := re.match(r"[\d.]+ E (?:\w+: )?(.*)|(\w*Error: .*)", line):
            return {"reason": re.sub(r"\s+", " ", said[1] or said[2]).strip().rstrip(".")}
    if code < 0:
        return {"reason": f"its process ended by signal {-code}", "reason_code": "signal", "number": -code}
    return {"reason": f"its process ended with code {code}", "reason_code": "ended", "number": code}
