"""Agents of Python's libraries against the endpoint: with tools, a form, a stream, and three messages they have one
conversation of three turns, and each call of a tool stands in the turn that it was made in.

``.ci/clients`` gets the libraries.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.door.openai.agent_libraries import ASKED, LIBRARIES
from tests.door.openai.inside import inside
from tests.installed import find_program
from tests.stub.reply import Reply, called, said
from tests.stub.upstream import Upstream

SCRIPT = Path(__file__).with_name("agent_libraries.py")
BORI = {"name": "Bori", "age": 3}
FORMS = {"langchain": "Dog", "pydantic-ai": "final_result"}
"""The tools that the form of an answer is, by library."""


def answer_as_told(body: dict[str, Any]) -> Reply:
    """A model that does what the conversation needs next."""
    offered = {tool["function"]["name"] for tool in body.get("tools", ())}
    last = body["messages"][-1]
    text = str(last["content"])
    if "transfer_to_weather_agent" in offered:
        return called("transfer_to_weather_agent", {})
    if ASKED[0] in text or (last["role"] == "tool" and "Weather agent" in text):
        return called("weather", {"city": "Busan"})
    if ASKED[1] in text:
        form = next((name for name in FORMS.values() if name in offered), None)
        return called(form, BORI) if form else said(json.dumps(BORI))
    return said("You are welcome." if ASKED[2] in text else "It is 31 degrees in Busan.")


@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_an_agent_has_one_conversation(tmp_path: Path, library: str, api: str) -> None:
    python = find_program("agents", "bin/python")
    with Upstream(always=answer_as_told) as upstream, inside(tmp_path, upstream) as service:
        command = [str(python), "-P", str(SCRIPT), f"{service.root}/v1", library, api]
        done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
        assert done.returncode == 0, done.stderr
        expected = ["It is 31 degrees in Busan.", BORI, "You are welcome."]
        assert json.loads(done.stdout.splitlines()[-1]) == expected
        (session,) = service.agent.store.sessions(limit=9)
        turns = service.agent.store.turns(session.id, limit=9)
    assert [(turn.question, turn.status, turn.given) for turn in turns] == [(text, "done", False) for text in ASKED]
    assert json.loads(turns[1].answer or "") == BORI
    calls = [[(step["name"], step["result"]) for step in turn.steps] for turn in turns]
    assert ("weather", "sunny 31C in Busan") in calls[0]
    assert [name for name, _ in calls[1]] == ([FORMS[library]] if library in FORMS else [])
    assert calls[2] == []
