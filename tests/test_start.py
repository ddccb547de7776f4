"""What a fresh process imports before anybody has asked for anything: only what its first request needs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from bench.server import environment
from tests.table import table

ROOT = Path(__file__).parents[1]
WITH_FIRST_USE = ("a2a", "aiohttp", "evaluation", "langchain_openai", "mcp", "mcp_types", "openai")
"""Packages of protocols, of evaluation, and of the client for models: each is imported when it is used."""
READERS = ("docx", "openpyxl", "pptx", "pypdf", "pdfplumber")
SERVICE = """
from door.endpoint import create_app
from graph.turn.agent import open_agent
from settings import load_current_settings
create_app(open_agent(load_current_settings()), load_current_settings())
"""
PAGE = "import app"
HELP = """
import sys
from typer.testing import CliRunner
import cli
assert CliRunner().invoke(cli.application, ["--help"]).exit_code == 0
"""


def imported(script: str, folder: Path) -> set[str]:
    """The modules that a new process has after the script."""
    folder.mkdir(exist_ok=True)
    told = f"{script}\nimport json, os, sys\nprint(json.dumps(sorted(sys.modules)), flush=True)\nos._exit(0)"
    settings = environment(folder, "http://127.0.0.1:9/v1", GIEOK_MEMORY="false")
    done = subprocess.run([sys.executable, "-c", told], cwd=ROOT, env=settings, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


@table(
    "name, script, absent",
    [
        ("the service", SERVICE, (*WITH_FIRST_USE, *READERS, "PIL", "psycopg", "streamlit")),
        ("the page", PAGE, (*WITH_FIRST_USE, *READERS, "fastapi", "psycopg", "uvicorn")),
        (
            "the help",
            HELP,
            (*WITH_FIRST_USE, *READERS, "PIL", "langchain_core", "langgraph", "sqlalchemy", "streamlit"),
        ),
    ],
)
def test_a_start_imports_only_what_the_first_request_needs(
    tmp_path: Path, name: str, script: str, absent: tuple[str, ...]
) -> None:
    found = imported(script, tmp_path / "data")
    assert "settings" in found, "the process has started"
    assert sorted(set(absent) & found) == [], name
