"""The product as a process of its own, forked from a server that has it loaded.

A new Python would load it anew, which takes three seconds of processor time. Some tests start it in that way all the
same (``tests.door.test_reach.start``, ``bench.server.service``): what they start is what a user starts.
"""

from __future__ import annotations

import ast
import atexit
import os
import runpy
import signal
import subprocess
import sys
import threading
from importlib import import_module
from multiprocessing.process import BaseProcess
from pathlib import Path

from tests import vectors

ROOT = Path(__file__).parents[1]


class Forked:
    """A process that was started so; it has what tests use of ``subprocess.Popen``."""

    def __init__(self, process: BaseProcess) -> None:
        assert process.pid is not None
        self.pid = process.pid
        self._process = process

    def poll(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Waits for its end. Raises ``subprocess.TimeoutExpired``."""
        self._process.join(timeout)
        code = self.poll()
        if code is None:
            raise subprocess.TimeoutExpired(str(self._process), timeout or 0.0)
        return code

    def send_signal(self, number: int) -> None:
        """Sends a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Asks it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Ends it at once."""
        self.send_signal(signal.SIGKILL)


def launch(arguments: list[str], environment: dict[str, str], log: Path, leave: float | None = None) -> Forked:
    """Starts ``cli.py …`` or ``streamlit run …`` in this environment; what it writes goes to the end of ``log``.
    ``leave``: how many seconds running requests have when the service ends, instead of the product's."""
    from tests.process import start

    return Forked(start(become, arguments, environment, str(log), leave))


def become(arguments: list[str], environment: dict[str, str], log: str, leave: float | None) -> None:
    """Makes this process what Python would be after a start with these arguments, until it ends."""
    with Path(log).open("ab") as out:
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(ROOT)
    sys.argv = list(arguments)
    if leave is not None:
        hurry_leaving(leave)
    try:
        if arguments[0] == "streamlit":
            runpy.run_module("streamlit", run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(str(ROOT / arguments[0]), run_name="__main__")
    finally:  # as at the end of Python; a forked process would leave both out
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()


def hurry_leaving(seconds: float) -> None:
    """Has the service of this process wait no longer for its running requests when it ends."""
    from door.endpoint import Service
    from server.request.running import Requests

    for method in (Service.leave, Requests.leave, Requests.close):
        method.__defaults__ = (seconds,)


STARTED = ("streamlit.web.cli", "streamlit.web.bootstrap", "door.endpoint", "server.network.serving")
"""What the page and the endpoint load at their start, beside what ``app.py`` names."""
FIRST_USED = (
    "anyio._backends._asyncio",
    "door.a2a.app",
    "door.mcp.http",
    "langchain_openai",
    "model.call.client",
    "openai.resources.chat.completions",
    "openai.resources.embeddings",
    "pandas",
    "streamlit.web.server.starlette.starlette_app",
    "typer.core",
    "uvicorn.lifespan.on",
    "uvicorn.loops.auto",
    "uvicorn.protocols.http.auto",
    "uvicorn.protocols.websockets.auto",
)
"""What they load at the first request or view: two seconds of processor time in each process of its own."""


def _load() -> None:
    """Loads what the page and the endpoint load at their start and with the first that is asked of them."""
    tree = ast.parse((ROOT / "app.py").read_text("utf-8"))
    named = [part.module for part in tree.body if isinstance(part, ast.ImportFrom) and part.module]
    for name in (*STARTED, *named, *FIRST_USED):
        import_module(name)
    vectors.use()


if "pytest" not in sys.modules:  # in the server, not in the process of the tests
    _load()
