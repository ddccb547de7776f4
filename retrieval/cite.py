"""Which passages an answer was taken from, for a model that seldom writes their numbers (copilot-rag.md §6).

A small model answers from a passage and leaves its number out. The words of the answer say where it comes from.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from retrieval.lookup import Cited
from retrieval.word import words

NUMBERS = re.compile(r"\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\]")
"""The numbers of passages in an answer: ``[1]``, ``[1, 3]``."""
ENOUGH = 0.45
"""Share of the answer's words that a passage must have to be its source: answers from elsewhere stay below."""
NEARLY, MOST = 0.9, 2
"""A second passage is named, too, when it has nearly as many of them."""


def marks(answer: str, passages: Sequence[Cited]) -> str:
    """What to put after the answer, such as `` [1]``; '' when it has numbers itself or comes from no passage."""
    said = set(words(answer, "ngram"))
    if not said or NUMBERS.search(answer):
        return ""
    shares = {each.number: len(said & set(words(each.text, "ngram"))) / len(said) for each in passages}
    best = max(shares.values(), default=0.0)
    found = sorted(shares, key=lambda number: -shares[number])[:MOST] if best >= ENOUGH else []
    return "".join(f" [{number}]" for number in found if shares[number] >= NEARLY * best)
