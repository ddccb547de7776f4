"""The bench of the doors: a real service, a turn through every door."""

from __future__ import annotations

import argparse

import pytest

from bench import doors


def test_every_door_gives_whole_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doors, "IDLE_SECONDS", 0.0)
    monkeypatch.setattr(doors, "SECONDS", 0.2)
    args = argparse.Namespace(callers=[1, 2], seconds=0.5, rounds=1, requests=90, workers=1)
    result = doors.run(args)
    assert (result["failed"], result["short_failed"]) == (0, 0)
    rows = result["rows"]
    assert isinstance(rows, list)
    assert [(row["door"], row["callers"]) for row in rows] == [
        (door, callers) for callers in (1, 2) for door in ("bare", *doors.DOORS)
    ]
    assert all(row["turns"] > 0 for row in rows)
    assert isinstance(result["memory_ratio"], float)


def test_an_answer_that_is_not_whole_has_failed() -> None:
    error = [{"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "no"}}]
    working = [{"result": {"statusUpdate": {"status": {"state": "TASK_STATE_WORKING"}}}}]
    assert not doors._ended("mcp", error)
    assert not doors._ended("mcp", [{"result": {"isError": True, "structuredContent": {}}}])
    assert not doors._ended("a2a", [])
    assert not doors._ended("a2a", working)
    assert doors._ended("a2a", [*working, {"result": {"statusUpdate": {"status": {"state": "TASK_STATE_COMPLETED"}}}}])
