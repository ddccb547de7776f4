"""Whether the process that works on something still runs."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import psutil

from store.worker import LOST_SECONDS, build_worker_name, is_gone
from tests.wait import until


def name_of(pid: int) -> str:
    machine = build_worker_name().partition("/")[0]
    return f"{machine}/{pid}/{psutil.Process(pid).create_time():.2f}"


def test_a_process_that_runs_is_there_however_long_it_was_silent() -> None:
    assert name_of(os.getpid()) == build_worker_name()
    long_ago = time.time() - 100 * LOST_SECONDS
    assert not is_gone(build_worker_name(), long_ago)


def test_a_killed_process_is_gone_also_before_anybody_waits_for_it() -> None:
    now = time.time()
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        name = name_of(process.pid)
        assert not is_gone(name, now)
        process.kill()
        until(lambda: psutil.Process(process.pid).status() == psutil.STATUS_ZOMBIE)
        assert is_gone(name, now)
    finally:
        process.communicate()
    assert is_gone(name, now)


def test_a_process_of_another_machine_is_gone_when_it_was_silent_for_long() -> None:
    now = time.time()
    assert not is_gone("elsewhere/1/2.00", now - LOST_SECONDS / 2)
    assert is_gone("elsewhere/1/2.00", now - 2 * LOST_SECONDS)
