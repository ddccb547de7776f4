"""Temporary files of the tests in memory: a commit of SQLite waits for the disk, two thousandths of a second each."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

DISK = Path("/dev/shm")
VARIABLE = "PYTEST_DEBUG_TEMPROOT"
"""Pytest's own, for the folder that it makes its temporary folders in."""
NEEDED = 4 * 2**30
"""Bytes that must be free: the tests write about a third of that at most."""


def use() -> None:
    """Has pytest put its temporary folders there, where such a disk is, unless somebody chose a place already."""
    if DISK.is_dir() and os.access(DISK, os.W_OK) and runs_programs(DISK) and shutil.disk_usage(DISK).free >= NEEDED:
        os.environ.setdefault(VARIABLE, str(DISK))


def place() -> str | None:
    """Where a temporary folder goes that is not pytest's; None: where the system has them."""
    return os.environ.get(VARIABLE)


def runs_programs(disk: Path) -> bool:
    """Whether programs may be started from it; containers often forbid it."""
    return not os.statvfs(disk).f_flag & os.ST_NOEXEC
