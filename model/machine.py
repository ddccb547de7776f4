"""The machine that models run on: a figure without it says little."""

from __future__ import annotations

import platform
from dataclasses import dataclass

import psutil


@dataclass(frozen=True, slots=True)
class Room:
    """What a model could use now. ``cores``: physical ones; ``free``: bytes of memory that are to be had."""

    cores: int
    free: int


def room() -> Room:
    """The room on this machine."""
    return Room(psutil.cpu_count(logical=False) or psutil.cpu_count() or 1, psutil.virtual_memory().available)


def machine() -> dict[str, object]:
    """Cores (physical and logical), memory in GiB, Python and platform."""
    return {
        "physical_cores": room().cores,
        "logical_cores": psutil.cpu_count() or 1,
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
    }
