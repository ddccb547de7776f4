"""The machine that models run on: a figure without it says little."""

from __future__ import annotations

import platform

import psutil


def machine() -> dict[str, object]:
    """Cores (physical and logical), memory in GiB, Python and platform."""
    return {
        "physical_cores": psutil.cpu_count(logical=False) or psutil.cpu_count() or 1,
        "logical_cores": psutil.cpu_count() or 1,
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
    }
