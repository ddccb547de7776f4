"""The one form in which texts are indexed, searched and compared: whatever people see as the same letters is the same.

Compatibility composition with case folding (Unicode Standard Annex 15, NFKC): a name from a Mac, which writes «é» as
two code points and «한» as three, is the same name from anywhere else; «１４일» is «14일». What is shown, and what a
model reads, stays as it was written.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import regex

from text.clean import collapse_spaces

EDITION = "nfkc-1"
"""A name of these rules, for what is made by them and stored."""
_GRAPHEME = regex.compile(r"\X")


def fold_text(text: str) -> str:
    """Returns a text in the form in which it is compared."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def fold_name(text: str) -> str:
    """Returns a name in the form in which it is compared: also without the spaces around it, and with single ones
    inside."""
    return collapse_spaces(fold_text(text))


@dataclass(frozen=True, slots=True)
class FoldedText:
    """A text as it is compared, and where each of its characters stands in the original. ``starts``, ``ends``: of the
    letter, with its marks, that each character comes from."""

    text: str
    starts: Sequence[int]
    ends: Sequence[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Returns the place in the original of a piece of the text."""
        return (self.starts[start], self.ends[end - 1]) if start < end else (0, 0)


def fold_with_places(text: str) -> FoldedText:
    """Returns a text as it is compared, with its places in the original."""
    folded = fold_text(text)
    if len(folded) == len(text) and text.isascii():
        return FoldedText(folded, range(len(text)), range(1, len(text) + 1))
    pieces, starts, ends = list[str](), list[int](), list[int]()
    for letter in _GRAPHEME.finditer(text):
        piece = fold_text(letter[0])
        pieces.append(piece)
        starts += [letter.start()] * len(piece)
        ends += [letter.end()] * len(piece)
    return FoldedText("".join(pieces), starts, ends)


__all__ = ["EDITION", "FoldedText", "fold_name", "fold_text", "fold_with_places"]
