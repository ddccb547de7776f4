"""What other processes do in these tests: started by a fork server that has everything imported."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from multiprocessing.context import ForkServerProcess
from multiprocessing.synchronize import Event
from pathlib import Path

import settings
from memory import Memory
from memory.redis.server import Server
from store import Store
from tests.memory.conversation import Conversations
from tests.memory.models import good, saying, small
from tests.process import CONTEXT as CONTEXT


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


def fold_until(
    step: str, url: str, folder: Path, answers: Sequence[str] = (), code: bool = False, end: int = signal.SIGKILL
) -> None:
    """Fold with a good model, or one that gives these answers, and be killed (``end``) at this step.

    ``code``: without a model.
    """
    models = small() if code else saying(*answers) if answers else good()

    def reached(name: str) -> None:
        if name == step:
            os.kill(os.getpid(), end)

    _open(url, folder).fold(models, step=reached)


def fold_always(url: str, folder: Path, rounds: int) -> None:
    """Fold whenever a fold is due."""
    talks = _open(url, folder)
    for _ in range(rounds):
        talks.fold()
    talks.memory.close()


def _open(url: str, folder: Path) -> Conversations:
    chosen = settings.load_settings(_env_file=None, data_dir=folder, redis_url=url, tenant="acme")
    store = Store(chosen.database)
    memory = Memory.open(chosen, store)
    assert memory.wait(60)
    return Conversations(memory, store)
