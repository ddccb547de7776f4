"""Marks with which an answer cites past turns: ``[T1]``, ``[T1, T3]``. They mean something with the prompt of their own
turn alone, so they are taken out wherever an answer is used again."""

from __future__ import annotations

import re

MARKS = re.compile(r"\[T(\d{1,3}(?:\s*,\s*T?\d{1,3})*)\]")
_SPACED = re.compile(rf"^{MARKS.pattern} |(?: ?{MARKS.pattern})", re.MULTILINE)


def strip_marks(text: str) -> str:
    """Returns the text without marks, and without the space before each; after one that begins a line."""
    return _SPACED.sub("", text) if "[T" in text else text


__all__ = ["MARKS", "strip_marks"]
