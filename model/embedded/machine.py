"""The machine that models run on: its resources, and its description for measured figures."""

from __future__ import annotations

import platform
from dataclasses import dataclass

import psutil


@dataclass(frozen=True, slots=True)
class MachineResources:
    """The resources that a model can use now. ``cores``: physical ones; ``free``: bytes of available memory."""

    cores: int
    free: int


def measure_machine_resources() -> MachineResources:
    """Returns the resources of this machine."""
    return MachineResources(
        psutil.cpu_count(logical=False) or psutil.cpu_count() or 1, psutil.virtual_memory().available
    )


def describe_machine() -> dict[str, object]:
    """Returns cores (physical and logical), memory in GiB, Python and platform."""
    return {
        "physical_cores": measure_machine_resources().cores,
        "logical_cores": psutil.cpu_count() or 1,
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
    }
