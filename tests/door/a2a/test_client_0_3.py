"""The official client of version 0.3, from a virtual environment of its own, over JSON-RPC and REST."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.door.a2a.place import Place, slow
from tests.installed import find_program
from tests.stub.reply import called, said

PROGRAM = Path(__file__).with_name("old_client.py")


def run(opened: Place, transport: str, what: str) -> Any:
    """What the old client saw."""
    command = [str(find_program("a2a03", "bin/python")), str(PROGRAM), opened.root, transport, what]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
    return json.loads(ended.stdout)


@pytest.mark.parametrize("transport", ["JSONRPC", "HTTP+JSON"])
def test_a_conversation(opened: Place, transport: str) -> None:
    opened.upstream.add(said("가나다 first"), said("second"))
    seen = run(opened, transport, "talk")
    assert seen["first"] == ["submitted", "working", "completed"]
    assert seen["texts"] == ["가나다 first", "second"]
    assert seen["got"] == "completed"
    (session,) = opened.agent.store.sessions()
    assert [turn.question for turn in opened.agent.store.turns(session.id)] == ["안녕?", "And?"]


@pytest.mark.parametrize("transport", ["JSONRPC", "HTTP+JSON"])
def test_a_cancelled_stream(opened: Place, transport: str) -> None:
    opened.upstream.add(slow(400))
    assert run(opened, transport, "cancel") == {"state": "canceled"}


def test_a_question(opened: Place) -> None:
    opened.upstream.add(called("ask_user", {"question": "Which?", "choices": ["red", "blue"]}), said("Blue."))
    assert run(opened, "JSONRPC", "ask") == {"states": ["input-required", "completed"], "text": "Blue."}
