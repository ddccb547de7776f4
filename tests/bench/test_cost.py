"""A turn through the endpoint, on SQLite and Valkey, may not read or write more often than it does now."""

from __future__ import annotations

import argparse
from typing import Any

from bench import cost

MOST = {"sql_path": 26, "redis": 2, "checkpoint": 14}
"""Of a median turn; ``sql_path`` of the cheapest, because on a busy machine some turns read once more. It is what runs
before the answer has ended, two of them so that a message sent again is told an answer that never went out."""
MOST_ASIDE = {"plain": 11, "dearest": 40}
"""Statements behind a turn: behind a plain one, and behind the one with the most side work (a summary and a fold)."""


def test_a_turn_reads_once_and_writes_little() -> None:
    found = cost.run(argparse.Namespace(turns=[10], pieces=[1], verbose=False))
    rows: Any = found["rows"]
    (row,) = rows
    counted = {**found, "sql_path": row["least_sql_path"]}
    assert {name: counted[name] for name in MOST if float(str(counted[name])) > MOST[name]} == {}
    assert row["least_sql_aside"] <= MOST_ASIDE["plain"]
    assert row["most_sql_aside"] <= MOST_ASIDE["dearest"]
