"""Marks of past turns in an answer."""

from __future__ import annotations

import pytest

from text.answer.cited_turn import strip_marks


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Your sister lives in Lisbon [T1].", "Your sister lives in Lisbon."),
        ("리스본에 산다[T1]. 수의사다 [T2, T13].", "리스본에 산다. 수의사다."),
        ("Both [T1][T3] agree.", "Both agree."),
        ("See [1] and [T] and [Tx] and T1 and arr[T1x].", "See [1] and [T] and [Tx] and T1 and arr[T1x]."),
        ("[T1]", ""),
        ("2026-03-02:\n[T1] User: rent?\n[T2] User: again?", "2026-03-02:\nUser: rent?\nUser: again?"),
    ],
)
def test_marks_go_with_the_space_before_them_and_nothing_else(text: str, left: str) -> None:
    assert strip_marks(text) == left
