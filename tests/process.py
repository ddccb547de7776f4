"""Processes of their own for tests, forked from a server that has imported what they need: about 50 ms each."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from typing import Any

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["graph.agent", "model.scripted", "sqlalchemy.dialects.sqlite.pysqlite"])


def start(work: Callable[..., object], *arguments: object) -> BaseProcess:
    """Starts a function of a module in a new process."""
    process = _CONTEXT.Process(target=work, args=arguments)
    process.start()
    return process


def end(process: BaseProcess, seconds: float = 60) -> int | None:
    """Waits for its exit code; negative: the signal that ended it."""
    process.join(seconds)
    if process.exitcode is None:
        process.kill()
    return process.exitcode


def channel() -> Any:
    """A queue that processes share."""
    return _CONTEXT.Queue()


def event() -> Any:
    """An event that processes share."""
    return _CONTEXT.Event()
