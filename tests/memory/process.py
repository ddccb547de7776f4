"""What other processes do in these tests: started by a fork server that has everything imported."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from functools import partial
from multiprocessing.context import ForkServerProcess
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import settings
from memory import Memory
from memory.fold import folding
from memory.fold.holder import LEASE_SECONDS, hold
from memory.key import Scope
from memory.redis.address import Client
from memory.redis.redis_store import RedisStore
from memory.redis.server import Server
from store import Store
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
    step: str,
    url: str,
    folder: Path,
    session: str,
    rest: bool = False,
    answers: Sequence[str] = (),
    code: bool = False,
    end: signal.Signals = signal.SIGKILL,
    lease: float = LEASE_SECONDS,
) -> None:
    """Fold with a good model, or one that gives these answers, and be killed (``end``) at this step.

    ``code``: without a model.
    """
    folding.hold = partial(hold, lease=lease)  # type: ignore[attr-defined]
    models = small() if code else saying(*answers) if answers else good()

    def reached(name: str) -> None:
        if name == step:
            os.kill(os.getpid(), end)

    report = _open(url, folder).fold("acme", session, models=models, language="en", rest=rest, step=reached)
    assert report.status == "busy", "it went on with a lock that it had lost"


def delete_until(step: str, url: str, folder: Path, session: str, forget: bool | None) -> None:
    """Delete a session with what it told, or restore it, and be killed at this step."""
    memory = _open(url, folder)
    with memory._store.transaction() as connection:
        memory.deleting("acme", session, forget)(connection)
    reached: list[str] = ["answered"]

    def dying(write: Any) -> Any:
        def written(self: RedisStore, client: Client, scope: Scope, *how: Any) -> Any:
            made = write(self, client, scope, *how)
            reached.append("apart" if scope.session == session else "other" if scope.session else "owner")
            if step in reached:
                os.kill(os.getpid(), signal.SIGKILL)
            return made

        return written

    RedisStore.revise = dying(RedisStore.revise)  # type: ignore[method-assign]
    RedisStore.change = dying(RedisStore.change)  # type: ignore[method-assign]
    if step in reached:
        os.kill(os.getpid(), signal.SIGKILL)
    memory.settle_deleted("acme", session)


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
