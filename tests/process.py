"""Processes of their own for tests, forked from a server that has imported what they need: about 50 ms each.

A process of tests has one such server, whoever asks for it, so what all of them need is named here."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from importlib.util import find_spec
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from typing import Any

PRELOADED = (
    "graph.turn.agent",
    "model.scripted",
    "sqlalchemy.dialects.sqlite.pysqlite",
    "tests.graph.killed",
    "tests.memory.models",
    "tests.product",
    "tests.world.killed",
)
assert all(find_spec(name) for name in PRELOADED), "the server skips a module that is not there, and all are slow then"

SECONDS = 120.0
"""How long one process waits for another at most; the first waits until the server has loaded the product."""

CONTEXT: ForkServerContext = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(list(PRELOADED))


def start(work: Callable[..., object], *arguments: object) -> BaseProcess:
    """Starts a function of a module in a new process."""
    process = CONTEXT.Process(target=work, args=arguments)
    process.start()
    return process


def end(process: BaseProcess, seconds: float = SECONDS) -> int | None:
    """Waits for its exit code; negative: the signal that ended it."""
    process.join(seconds)
    if process.exitcode is None:
        process.kill()
    return process.exitcode


def channel() -> Any:
    """A queue that processes share."""
    return CONTEXT.Queue()


def barrier(parties: int) -> Any:
    """A barrier that processes share: each waits there until all have come."""
    return CONTEXT.Barrier(parties)


def event() -> Any:
    """An event that processes share."""
    return CONTEXT.Event()
