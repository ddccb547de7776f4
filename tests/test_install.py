"""``.ci/install``: a virtual environment that was only half made is made again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

INSTALL = Path(__file__).parents[1] / ".ci" / "install"


def test_a_virtual_environment_without_pip_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").touch()
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / ".venv"], check=True)
    made = install(tmp_path)
    assert (made.returncode, made.stderr) == (0, "")
    assert "Making .venv" in made.stdout
    assert "Making .venv" not in install(tmp_path).stdout


def install(folder: Path) -> subprocess.CompletedProcess[str]:
    """The script, with this Python, in a folder of its own."""
    environment = {**os.environ, "PYTHON": sys.executable}
    command = ["sh", str(INSTALL), "requirements.txt"]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
