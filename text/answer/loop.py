"""Detection of a small model that repeats the same words until its tokens are used up."""

from __future__ import annotations

COPIES = 3
SHORTEST, LONGEST = 12, 320
"""Length of the repeated text in characters."""
LETTERS = 5
"""Minimum of different letters in the repeated text, because rows of zeros, dashes and «la la la» are intended."""


def find_loop_start(text: str) -> int | None:
    """Returns where the first repetition begins when a text ends with the same words three times, else None."""
    end = len(text)
    for size in range(SHORTEST, min(LONGEST, end // COPIES) + 1):
        tail = text[end - size :]
        if text.endswith(tail * COPIES) and len({letter for letter in tail if letter.isalpha()}) >= LETTERS:
            return _find_first_copy(text, end - COPIES * size, size) + size
    return None


def _find_first_copy(text: str, start: int, size: int) -> int:
    """Returns the start of the first copy; the repeated text may begin in the middle of a sentence."""
    while start > 0 and text[start - 1] == text[start - 1 + size]:
        start -= 1
    return start
