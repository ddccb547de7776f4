"""The totals of the panel are those of specification 8.4."""

from __future__ import annotations

from typing import Any

from streamlit.testing.v1 import AppTest

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


def shown(original: int, summary: int) -> str:
    """What the panel says of one summary."""

    def draw(original: int, summary: int) -> None:
        from component.page.catalogue import Words
        from component.panel.total import Totals, draw_totals

        draw_totals(Words("ko"), Totals(1, 3, original, summary))

    at = AppTest.from_function(draw, args=(original, summary)).run()
    assert not at.exception
    return str(at.markdown[1].value)


def test_summaries_that_are_longer_than_their_turns_are_told_so() -> None:
    assert shown(100, 70) == "전체 **30%** 줄임"
    assert shown(100, 100) == "전체 **0%** 줄임"
    assert shown(100, 120) == "요약이 원문보다 **20%** 깁니다"
