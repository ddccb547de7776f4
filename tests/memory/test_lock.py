"""The lock of a fold is a lease; whoever lost it writes nothing, however late it comes."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from memory.fold.holder import Held, hold
from memory.key import Scope
from memory.redis.link import Link
from tests.memory import process
from tests.memory.conftest import Opened
from tests.memory.models import good
from tests.memory.test_memory import talk

SCOPE = Scope("acme", "s1")
LEASE = 1.5


def until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def left(link: Link) -> int:
    """Milliseconds of the lease; -2 when nobody holds the lock."""
    return link.run(lambda client: int(client.pttl(SCOPE.key("lock"))))


def test_a_lease_is_renewed_while_its_holder_lives(link: Link) -> None:
    with hold(link, SCOPE, LEASE):
        until(lambda: left(link) < 1000 * LEASE * 0.75)
        until(lambda: left(link) > 1000 * LEASE * 0.8)
        with pytest.raises(Held), hold(link, SCOPE, LEASE):
            pass
    assert left(link) == -2


def test_a_holder_that_slept_past_its_lease_writes_nothing(opened: Opened, tcp: str, tmp_path: Path) -> None:
    memory = opened()
    talk(memory, *range(1, 7))
    link = Link(tcp, Path("unused"))
    assert link.wait(10)
    how = ("made", tcp, tmp_path / "data", "s1", False, (), False, signal.SIGSTOP, 0.4)
    slept = process.start(process.fold_until, *how)
    until(lambda: psutil.Process(slept.pid).status() == psutil.STATUS_STOPPED)
    until(lambda: left(link) == -2)  # nobody renews its lease
    before = memory.context("acme", "s1", "en")
    with hold(link, SCOPE):  # somebody else is at it by now, and has written nothing yet
        assert slept.pid is not None
        os.kill(slept.pid, signal.SIGCONT)
        slept.join(30)
    assert slept.exitcode == 0, "it was told that it is not its turn"
    assert memory.context("acme", "s1", "en") == before
    assert memory.versions("acme", "s1") == []
    link.close()
    assert memory.fold("acme", "s1", models=good(), language="en").status == "folded"
