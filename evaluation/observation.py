"""Observations: dated lines that are only ever appended, thinned out when they outgrow their budget.

One more form of long-term memory beside the recursive one: because the lines never change, they can stand in the
cacheable front of a prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from store import TurnRow
from text import sentence
from text.fact import fact
from text.language import Language


def build_observations(
    rows: Sequence[TurnRow], language: Language, budget: int, count: Callable[[str], int]
) -> list[str]:
    """Returns the observations of a conversation, oldest first, within ``budget`` tokens."""
    lines = [line for row in rows for line in _list_dated_statements(row, language)]
    sizes = [count(line) for line in lines]
    kept = list(range(len(lines)))
    weights = [len(fact.find_facts(line)) for line in lines]
    while kept and sum(sizes[index] for index in kept) > budget:
        kept.remove(min(kept, key=lambda index: (weights[index], index)))
    return [lines[index] for index in kept]


def _list_dated_statements(row: TurnRow, language: Language) -> list[str]:
    """Returns the user's statements of a turn, dated; questions tell nothing."""
    day = datetime.fromtimestamp(row.started).astimezone().date().isoformat()
    told = [piece.strip() for piece in sentence.split_sentences(row.question) if not piece.strip().endswith("?")]
    return [f"{day} {piece}" for piece in told if piece]
