"""Nothing goes to a tracing service, whatever the environment says: questions, documents and answers stay here."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.stub.upstream import Upstream

ROOT = Path(__file__).parents[2]


def test_whole_turns_with_a_search_are_not_traced(tmp_path: Path) -> None:
    switches = ("LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2", "LANGCHAIN_TRACING", "LANGCHAIN_HANDLER")
    with Upstream() as service:
        told = {**dict.fromkeys(switches, "true"), "LANGSMITH_ENDPOINT": service.url, "LANGSMITH_API_KEY": "key"}
        run = [sys.executable, "-m", "tests.graph.traced", str(tmp_path)]
        environment = {**os.environ, **told}
        done = subprocess.run(run, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert (service.requests, service.others) == ([], [])
