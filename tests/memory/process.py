"""What other processes do in these tests: started by a fork server that has everything imported."""

from __future__ import annotations

import multiprocessing
import os
import signal
from multiprocessing.context import ForkServerContext, ForkServerProcess
from multiprocessing.synchronize import Event
from pathlib import Path

import settings
from memory import Memory
from memory.server import Server
from store import Store
from tests.memory.models import good

CONTEXT: ForkServerContext = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload([__name__])


def start(work: object, *args: object) -> ForkServerProcess:
    """Run a function of this module in a process of its own."""
    process = CONTEXT.Process(target=work, args=args)  # type: ignore[arg-type]
    process.start()
    return process


def use_server(folder: Path, ready: Event, leave: Event) -> None:
    """Use the embedded server of a folder until told to leave."""
    server = Server(folder)
    server.ensure()
    ready.set()
    leave.wait()
    server.close()


def fold_until(step: str, url: str, folder: Path, session: str) -> None:
    """Fold, and be killed at this step."""

    def reached(name: str) -> None:
        if name == step:
            os.kill(os.getpid(), signal.SIGKILL)

    _open(url, folder).fold("acme", session, models=good(), language="en", step=reached)


def note(url: str, folder: Path, session: str, numbers: list[int]) -> None:
    """Note turns, and fold after each one that makes it due."""
    memory = _open(url, folder)
    for number in numbers:
        assert memory.note_turn("acme", session, number, f"My item {number} costs ${number}00.", "Noted.")
        for due in memory.due("acme", session):
            memory.fold(due.tenant, due.session, models=good(), language="en", rest=due.rest)
    memory.close()


def _open(url: str, folder: Path) -> Memory:
    chosen = settings.load(_env_file=None, data_dir=folder, redis_url=url, tenant="acme")
    memory = Memory.open(chosen, Store(chosen.database))
    assert memory.wait(10)
    return memory
