"""The totals of the panel are those of the specification's drawing."""

from __future__ import annotations

from dataclasses import fields

from component.total import Totals, totals
from store import Summary


def summary(turns: list[int], original: int, length: int | None) -> Summary:
    record = None
    if length is not None:
        record = {"turns": turns, "turn_length": 3, "original_chars": original, "summary_chars": length, "summary": "…"}
    given = {"turns": turns, "rate": 0.3, "record": record, "status": "active" if record else "failed"}
    rest = {each.name: None for each in fields(Summary) if each.name not in given}
    return Summary(**given, **rest)  # type: ignore[arg-type]


def test_three_summaries_as_in_the_specification() -> None:
    sums = totals([summary([1, 2, 3], 1500, 450), summary([4, 5, 6], 100, 30), summary([7, 8, 9], 800, 240)])
    assert sums == Totals(count=3, turns=9, original=2400, summary=720)
    assert sums.saved_percent == 70


def test_a_failed_summary_counts_for_nothing() -> None:
    assert totals([summary([1, 2, 3], 0, None)]) == Totals(0, 0, 0, 0)


def test_no_summaries_save_nothing() -> None:
    assert totals([]).saved_percent == 0
