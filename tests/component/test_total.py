"""The totals of the panel are those of specification 8.4."""

from __future__ import annotations

from typing import Any

from component.panel.total import Totals, sum_summary_records


def record(original: int, length: int) -> dict[str, Any]:
    return {"turn_length": 3, "original_chars": original, "summary_chars": length, "summary": "…"}


def test_three_summaries_as_in_the_specification() -> None:
    sums = sum_summary_records([record(1500, 450), record(100, 30), record(800, 240)])
    assert sums == Totals(count=3, turns=9, original=2400, summary=720)
    assert sums.saved_percent == 70


def test_a_failed_summary_counts_for_nothing() -> None:
    assert sum_summary_records([None]) == Totals(0, 0, 0, 0)


def test_no_summaries_save_nothing() -> None:
    assert sum_summary_records([]).saved_percent == 0
