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
