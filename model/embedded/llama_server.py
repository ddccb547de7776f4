"""The embedded model's server: one llama.cpp process per user and configuration, shared by all processes (design 9.7).

The folder ``data_dir/embedded/<configuration>`` holds the files that coordinate the processes: ``start.lock`` (held by
the process that starts the server), ``server.lock`` (held by the server while it lives), ``clients.lock`` (shared by
every client while it lives) and ``state.json`` (address, key, pid). Locks are ``flock``: Linux and macOS; on Windows,
use WSL.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import hashlib
import importlib.util
import json
import math
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import psutil

import private
from errors import EmbeddedFailed, MissingExtra
from model.call.connection import load_system_authorities
from model.file_lock import hold_file_lock, is_lock_held, open_lock, translate_disk_errors
from settings import Settings, child_environment
from text.clean import parse_json

CALM = {"GOMP_SPINCOUNT": "1000"}
"""Environment of the server; the user's own variables take precedence. llama.cpp's threads wait for each other at some
hundred places of every token, by GNU OpenMP. By default they spin there for milliseconds. Beside busy processes the
spinning threads burn the very time that the awaited thread needs: 31 tokens a second idle, 0.5 to 10 beside a busy
process. With threads that sleep after 1,000 rounds: 27 to 30 idle, and 12 to 15 beside one or two busy processes
(decision 8)."""
START_SECONDS = 300.0
_ROOT = Path(__file__).resolve().parents[2]
_clients: dict[Path, int] = {}
_checked: set[Embedded] = set()
_started: list[subprocess.Popen[bytes]] = []
_guard = threading.Lock()


@dataclass(frozen=True)
class Embedded:
    """A running server. ``url``: up to and including ``/v1``; ``log``: the file with the output of its process."""

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
        values = {"context": self.context, "threads": self.threads, "states": self.states}
        options = [argument for name, value in values.items() for argument in (f"--{name}", str(value))]
        return [
            sys.executable,
            "-m",
            "model.embedded.serve",
            str(self.folder),
            str(self.weights),
            "--name",
            self.name,
            *options,
        ]


@dataclass(frozen=True)
class ServerUse:
    """A server that this process has connected to. ``name``: of its model; ``server``: as it last ran, None until it
    runs for the first time; ``moment``: of the last time that this process asked for it (``time.monotonic``), infinite
    while it starts."""

    folder: Path
    name: str
    server: Embedded | None
    moment: float

    @property
    def is_running(self) -> bool:
        """Whether this very server lives: what answers at the address of another one may be a foreign program."""
        return self.server is not None and _is_server_process(self.folder / "server.lock", self.server.pid)


_uses: dict[Path, ServerUse] = {}


def connect_embedded_server(settings: Settings, path: Path) -> Embedded:
    """Returns the server for these weights; starts the server when it does not run. This process stays a client until
    it ends, or until ``release_unused_server``.

    The call is cheap when the server runs (well under a millisecond after the first time). Call it before each request:
    it replaces a server that died, at the same address with the same key when that address is still free. Blocks while
    the model loads. Raises ``EmbeddedFailed`` with the reason and the log, and ``MissingExtra`` without ``xllamacpp``.
    """
    plan = _build_server_plan(settings, path)
    with translate_disk_errors(plan.folder):
        use, running = _join_server_clients(plan), None
        try:
            running = _find_running_server(plan)
            if running is None:
                with hold_file_lock(plan.folder / "start.lock"):
                    running = _find_running_server(plan) or _start_embedded_server(plan, use.server)
            return running
        finally:
            _note_server_use(use, running)


def make_server_lookup(settings: Settings, path: Path) -> Callable[[], Embedded | None]:
    """Returns a function that finds the server for these weights: None unless it runs and this process is its client.

    The function starts nothing. Its call counts as use, so that the server is not released right after it. Ask it
    before you send anything to a server that you have not just connected to: another program may have taken the port of
    a server that has ended.
    """
    return partial(_find_connected_server, _build_server_plan(settings, path))


def list_server_uses() -> list[ServerUse]:
    """Returns the servers of which this process is a client."""
    with _guard:
        return [use for folder, use in _uses.items() if folder in _clients]


def release_unused_server(use: ServerUse) -> bool:
    """Stops being a client of a server that nothing has asked for since ``use`` was listed, also of one that did not
    start; returns whether it did.

    The server ends by itself if no other process is its client. The next ``connect_embedded_server`` starts it again,
    at its earlier address, which clients know.
    """
    with _guard:
        if _uses.get(use.folder) is not use or use.folder not in _clients:
            return False
        os.close(_clients.pop(use.folder))
        return True


def count_server_threads(settings: Settings) -> int:
    """Returns the threads of the setting, or the number of physical cores, at most 8."""
    return settings.embedded_threads or min(psutil.cpu_count(logical=False) or os.cpu_count() or 1, 8)


def name_embedded_model(settings: Settings) -> str:
    """Returns the model's name: its name in the catalogue, or that of the user's own file."""
    return settings.embedded_model if settings.embedded_path is None else settings.embedded_path.stem


def locate_slot_states(settings: Settings) -> Path:
    """Returns the folder of saved slot states, shared by all configurations."""
    return settings.data_dir.resolve() / "embedded" / "prefix"


def _build_server_plan(settings: Settings, path: Path) -> _Plan:
    path = path.resolve()
    size, count, context = path.stat().st_size, count_server_threads(settings), settings.embedded_context
    short = hashlib.sha256(repr((str(path), size, context, count)).encode()).hexdigest()[:12]
    data = settings.data_dir.resolve()
    log = data / "log" / f"embedded-{short}.log"
    return _Plan(
        data / "embedded" / short,
        log,
        path,
        name_embedded_model(settings),
        context,
        count,
        locate_slot_states(settings),
    )


def _join_server_clients(plan: _Plan) -> ServerUse:
    """Takes the shared clients' lock and holds it until this process ends; waits while a server is just ending.
    Returns the use that begins, with the server as this process last knew it. Nobody releases the server until
    ``_note_server_use``."""
    with _guard:
        if plan.folder not in _clients:
            descriptor = open_lock(plan.folder / "clients.lock")
            fcntl.flock(descriptor, fcntl.LOCK_SH)
            _clients[plan.folder] = descriptor
        earlier = known.server if (known := _uses.get(plan.folder)) is not None else None
        use = _uses[plan.folder] = ServerUse(plan.folder, plan.name, earlier, math.inf)
    return use


def _note_server_use(use: ServerUse, running: Embedded | None) -> None:
    """Notes that a use has begun, now. ``running``: None where the server did not start: it may be released unless
    another thread waits for it, too."""
    with _guard:
        if running is not None or _uses.get(use.folder) is use:
            _uses[use.folder] = replace(use, server=running or use.server, moment=time.monotonic())


def _find_connected_server(plan: _Plan) -> Embedded | None:
    with _guard:
        use = _uses.get(plan.folder)
        if use is None or plan.folder not in _clients:
            return None
        if use.moment < math.inf:
            _uses[plan.folder] = replace(use, moment=time.monotonic())
    try:
        return _find_running_server(plan)
    except OSError:
        return None


def _find_running_server(plan: _Plan) -> Embedded | None:
    """Returns the server that the state file names; None unless its process lives and, asked once, answers and takes
    the key."""
    try:
        state = parse_json(plan.state.read_text())
        server = Embedded(state["url"], state["key"], state["pid"], plan.log)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if not _is_server_process(plan.server, server.pid):
        return None
    if server not in _checked:
        if not _is_answering_server(server):
            return None
        _checked.add(server)
    return server


def _is_server_process(lock: Path, pid: int) -> bool:
    """Returns whether the process lives that holds the lock of a server, and is this one."""
    return is_lock_held(lock) and lock.read_text() == str(pid)


def _is_answering_server(found: Embedded) -> bool:
    """Returns whether /health is fine and the server takes the key. A server that answers too late counts as alive: it
    is busy."""
    headers = {"Authorization": f"Bearer {found.key}"}
    try:
        with httpx2.Client(timeout=10.0, trust_env=False, verify=load_system_authorities()) as client:
            health = client.get(found.url.removesuffix("/v1") + "/health")
            models = client.get(found.url + "/models", headers=headers)
    except httpx2.TimeoutException:
        return True
    except httpx2.TransportError:
        return False
    return health.status_code == 200 and models.status_code == 200


def _start_embedded_server(plan: _Plan, earlier: Embedded | None) -> Embedded:
    """Starts the server and waits until it is ready; the caller holds ``start.lock``. ``earlier``: the server of this
    process that was released, whose address the new one takes if it is free."""
    if importlib.util.find_spec("xllamacpp") is None:
        raise MissingExtra(feature="The embedded model", package="xllamacpp")
    _end_deaf(plan)
    if earlier is not None and not plan.state.exists():  # a server that ended by itself takes its address with it
        private.write_private_file(plan.state, json.dumps({"url": earlier.url, "key": earlier.key, "pid": earlier.pid}))
    process = _spawn_llama_server(plan)
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise EmbeddedFailed(name=plan.name, **_find_end_reason(process.returncode, plan.log), log=str(plan.log))
        server = _find_running_server(plan)
        if server is not None:
            return server
        time.sleep(0.05)
    process.kill()
    process.wait()
    late = {"reason": f"it was not ready after {START_SECONDS:g} s", "reason_code": "late", "seconds": START_SECONDS}
    raise EmbeddedFailed(name=plan.name, **late, log=str(plan.log))


def _end_deaf(plan: _Plan) -> None:
    """Kills a server that lives but does not answer, or whose starter died while the server was loading."""
    if not is_lock_held(plan.server):
        return
    with contextlib.suppress(OSError, ValueError):
        os.kill(int(plan.server.read_text()), signal.SIGKILL)
    deadline = time.monotonic() + 10
    while is_lock_held(plan.server) and time.monotonic() < deadline:
        time.sleep(0.05)


def _spawn_llama_server(plan: _Plan) -> subprocess.Popen[bytes]:
    """Starts the server process in a session of its own, so that Ctrl-C in a terminal does not reach it."""
    private.make_folder(plan.log.parent)
    for folder in (plan.log.parent, plan.state.parent, plan.states):
        private.restrict_folder_to_owner(folder)
    if plan.log.exists():
        plan.log.replace(plan.log.with_suffix(".log.old"))
    environment = CALM | child_environment()
    private.make_file(plan.log)
    with plan.log.open("wb") as out:
        process = subprocess.Popen(
            plan.command(), cwd=_ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            start_new_session=True, umask=0o077,
        )  # fmt: skip
    _started[:] = [child for child in _started if child.poll() is None] + [process]
    return process


@atexit.register
def _mute_child_warnings() -> None:
    """Suppresses ``Popen``'s warning about a child that still runs, because a server outlives the process that started
    it."""
    for child in _started:
        child.returncode = child.poll() or 0


def _find_end_reason(code: int, path: Path) -> dict[str, Any]:
    """Returns why the process ended, as values of an error: the first error line of its log, or how the process
    ended."""
    if code == -signal.SIGKILL:
        return {"reason": "its process was killed, probably because memory ran out", "reason_code": "killed"}
    for line in path.read_text(errors="replace").splitlines():
        if match := re.match(r"[\d.]+ E (?:\w+: )?(.*)|(\w*Error: .*)", line):
            return {"reason": re.sub(r"\s+", " ", match[1] or match[2]).strip().rstrip(".")}
    if code < 0:
        return {"reason": f"its process ended by signal {-code}", "reason_code": "signal", "number": -code}
    return {"reason": f"its process ended with code {code}", "reason_code": "ended", "number": code}
