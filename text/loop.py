"""A small model that says the same again and again until its tokens are used up."""

from __future__ import annotations

COPIES = 3
SHORTEST, LONGEST = 12, 320
"""Characters of what is repeated."""
LETTERS = 5
"""Different letters in it: rows of zeros, dashes and «la la la» are meant as they are."""


def begins(text: str) -> int | None:
    """Where the first repetition begins, when a text ends with the same words three times in a row; else None."""
    end = len(text)
    for size in range(SHORTEST, min(LONGEST, end // COPIES) + 1):
        unit = text[end - size :]
        if text.endswith(unit * COPIES) and len({letter for letter in unit if letter.isalpha()}) >= LETTERS:
            return _first(text, end - COPIES * size, size) + size
    return None


def _first(text: str, start: int, size: int) -> int:
    """The start of the first copy: what repeats may have begun in the middle of a sentence."""
    while start > 0 and text[start - 1] == text[start - 1 + size]:
        start -= 1
    return start
