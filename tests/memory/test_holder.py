"""Who is taken for a dead holder of a fold's lock: a process that is gone, also where another has its number since."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from memory.fold.holder import Held, _born, _dead, _machine, hold
from memory.key import Scope
from memory.redis.link import Link

SCOPE = Scope("acme", "held")


def test_a_running_process_is_not_dead_whichever_it_is() -> None:
    with subprocess.Popen(["sleep", "60"]) as other:
        for number in (os.getpid(), other.pid):
            assert not _dead(f"{_machine()} {number} {_born(number)} x")
        other.kill()
        other.wait()
        assert _dead(f"{_machine()} {other.pid} 1 x")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux tells when a process began")
def test_an_earlier_process_with_the_same_number_is_dead(link: Link) -> None:
    """A container that is started again gives its process the number that the killed one had."""
    killed = f"{_machine()} {os.getpid()} 1 x"
    link.run(lambda client: client.set(SCOPE.key("lock"), killed, px=3_600_000))
    with hold(link, SCOPE) as token:
        assert token > 0


def test_a_process_of_another_machine_is_waited_for(link: Link) -> None:
    link.run(lambda client: client.set(SCOPE.key("lock"), f"elsewhere {os.getpid()} 1 x", px=30_000))
    with pytest.raises(Held), hold(link, SCOPE):
        pass
