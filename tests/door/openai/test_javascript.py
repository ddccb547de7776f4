"""Clients of JavaScript against the endpoint: the AI SDK and OpenAI's own library, with answers in JSON and with tools.

``.ci/clients`` gets their packages.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.door.openai.inside import Inside, inside
from tests.installed import find_node, find_program
from tests.stub.reply import called, said
from tests.stub.upstream import Upstream

SCRIPT = Path(__file__).with_name("javascript.mjs")
CALL, SAID = called("weather", {"city": "Busan"}), said("It is 31 degrees in Busan.")
BORI = {"name": "Bori", "age": 3}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Inside]:
    with Upstream() as upstream, inside(tmp_path, upstream) as opened:
        yield opened


def run(service: Inside, what: str) -> Any:
    package = find_program("javascript", "node_modules/ai/package.json")
    command = [find_node(), str(SCRIPT), str(package.parents[2]), f"{service.root}/v1", what]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("what", ["generateObject", "streamObject"])
def test_the_ai_sdk_gets_an_object(service: Inside, what: str) -> None:
    service.upstream.add(said("I like dogs."), said(json.dumps(BORI)))
    assert run(service, what) == BORI
    assert service.upstream.requests[0].body["response_format"]["type"] == "json_schema"


@pytest.mark.parametrize("what", ["generateText", "runTools"])
def test_their_agents_run_their_tools_in_one_turn(service: Inside, what: str) -> None:
    service.upstream.add(CALL, CALL, SAID)
    made = run(service, what)
    assert made["text"] == "It is 31 degrees in Busan."
    (session,) = service.agent.store.sessions(limit=9)
    (turn,) = service.agent.store.turns(session.id, limit=9)
    assert [step["result"] for step in turn.steps] == ["sunny 31C in Busan"] * 2
    assert turn.status == "done"
