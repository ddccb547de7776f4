"""``.ci/install``: a virtual environment that was only half made is made again. ``.ci/clients``: programs of others are
installed once for a version, and a test is skipped for the one that cannot be."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

SCRIPTS = Path(__file__).parents[1] / ".ci"


def test_a_virtual_environment_without_pip_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").touch()
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / ".venv"], check=True)
    made = install(tmp_path)
    assert (made.returncode, made.stderr) == (0, "")
    assert "Making .venv" in made.stdout
    assert "Making .venv" not in install(tmp_path).stdout


def test_a_program_that_cannot_be_installed_is_named_and_the_others_are_tried(tmp_path: Path) -> None:
    made = run_script("clients", tmp_path, "mcp1", "sillytavern")  # no Python is there to install by
    assert made.returncode == 0
    named = re.findall(r"^No (\S+) for its tests: .* set (\S+) to its folder", made.stderr, re.MULTILINE)
    assert named == [("mcp1", "GIEOK_TEST_MCP1"), ("sillytavern", "GIEOK_TEST_SILLYTAVERN")]
    assert list(tmp_path.rglob("installed")) == []


def test_a_program_is_installed_once_for_a_version(tmp_path: Path) -> None:
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    for folder in (python.parent, tmp_path / ".venv" / "open-webui" / "bin"):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "python").write_text("#!/bin/sh\n", "utf-8")
        (folder / "python").chmod(0o755)
    assert run_script("clients", tmp_path, "open-webui").stdout.startswith("Installing open-webui==")
    assert run_script("clients", tmp_path, "open-webui").stdout == ""
    (tmp_path / ".venv" / "open-webui" / "installed").write_text("open-webui==0.1\n", "utf-8")
    assert run_script("clients", tmp_path, "open-webui").stdout.startswith("Installing open-webui==")


def test_a_program_whose_folder_is_named_is_not_installed(tmp_path: Path) -> None:
    made = run_script("clients", tmp_path, "open-webui", GIEOK_TEST_OPEN_WEBUI="/elsewhere")
    assert (made.returncode, made.stdout, made.stderr) == (0, "", "")


def test_an_unknown_program_is_refused(tmp_path: Path) -> None:
    made = run_script("clients", tmp_path, "kobold")
    assert made.returncode == 1
    assert "kobold" in made.stderr


def install(folder: Path) -> subprocess.CompletedProcess[str]:
    """``.ci/install`` with this Python."""
    return run_script("install", folder, "requirements.txt", PYTHON=sys.executable)


def run_script(name: str, folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A script of ``.ci`` in a folder of its own."""
    command, environment = ["sh", str(SCRIPTS / name), *arguments], {**os.environ, **variables}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
