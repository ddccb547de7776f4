"""Observations: dated lines that are only ever appended, thinned out when they outgrow their budget.

One more form of long-term memory beside the recursive one: because the lines never change, they can stand in the
cacheable front of a prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from store import Turn
from text import fact, sentence
from text.language import Language


def observations(rows: Sequence[Turn], language: Language, budget: int, count: Callable[[str], int]) -> list[str]:
    """Returns the observations of a conversation, oldest first, within ``budget`` tokens."""
    lines = [line for row in rows for line in _observed(row, language)]
    sizes = [count(line) for line in lines]
    kept = list(range(len(lines)))
    weights = [len(fact.facts(line)) for line in lines]
    while kept and sum(sizes[index] for index in kept) > budget:
        kept.remove(min(kept, key=lambda index: (weights[index], index)))
    return [lines[index] for index in kept]


def _observed(row: Turn, language: Language) -> list[str]:
    """Returns the user's statements of a turn, dated; questions tell nothing."""
    day = datetime.fromtimestamp(row.started).astimezone().date().isoformat()
    told = [piece.strip() for piece in sentence.split(row.question) if not piece.strip().endswith("?")]
    return [f"{day} {piece}" for piece in told if piece]
