"""What a caller takes for a whole answer, door by door; ``test_doors`` and ``test_soak`` call a real service."""

from __future__ import annotations

from typing import Any

import pytest

from bench.caller import read_answer

WORKING = {"result": {"statusUpdate": {"status": {"state": "TASK_STATE_WORKING"}}}}
COMPLETED = {"result": {"statusUpdate": {"status": {"state": "TASK_STATE_COMPLETED"}}}}


def artifact(text: str) -> dict[str, Any]:
    return {"result": {"artifactUpdate": {"artifact": {"parts": [{"text": text}]}}}}


@pytest.mark.parametrize(
    ("door", "seen"),
    [
        ("mcp", [{"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "no"}}]),
        ("mcp", [{"result": {"isError": True, "structuredContent": {"answer": "a", "status": "done"}}}]),
        ("mcp", [{"result": {"structuredContent": {"answer": "a", "status": "stopped"}}}]),
        ("a2a", []),
        ("a2a", [artifact("a"), WORKING]),
        ("responses", []),
        ("responses", [{"type": "response.failed", "response": {"output": [{"content": [{"text": "a"}]}]}}]),
    ],
)
def test_an_answer_that_is_not_whole_is_none(door: str, seen: list[dict[str, Any]]) -> None:
    assert read_answer(door, seen) is None


@pytest.mark.parametrize(
    ("door", "seen"),
    [
        ("mcp", [{"result": {"structuredContent": {"answer": "one two", "status": "done"}}}]),
        ("a2a", [WORKING, artifact("one "), artifact("two"), COMPLETED]),
        ("responses", [{"type": "response.completed", "response": {"output": [{"content": [{"text": "one two"}]}]}}]),
    ],
)
def test_a_whole_answer_is_its_text(door: str, seen: list[dict[str, Any]]) -> None:
    assert read_answer(door, seen) == "one two"
