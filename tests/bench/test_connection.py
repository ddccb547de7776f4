"""The bench of a connection's limits: both classes answer the same requests."""

from __future__ import annotations

import argparse
from typing import Any, cast

import pytest

from bench import connection


def test_both_classes_are_measured() -> None:
    result = connection.run(argparse.Namespace(requests=400, rounds=2, bytes=2_000))
    rows = cast(list[dict[str, Any]], result["rows"])
    assert [row["connection"] for row in rows] == ["plain", "limited"]
    assert all(row["requests"] == 800 and row["cpu_us_per_request"] > 0 for row in rows)
    assert cast(float, result["cpu_ratio"]) > 0


def test_a_request_that_is_refused_is_no_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_HEAD", connection._HEAD.replace("host:", f"x-long: {'y' * 100_000}\r\nhost:"))
    with pytest.raises(RuntimeError, match="431"):
        connection.run(argparse.Namespace(requests=8, rounds=1, bytes=10))
