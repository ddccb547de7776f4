"""Search in past turns by words, meaning, neighbours and the names that the first finds lead to.

A learned linear model (``bench.train.past_turn``) orders the candidates (``retrieval.past.feature``). The score of the
likeliest turn is the probability that anything fits the message at all; the others have a share of it. So it means the
same in a conversation of ten turns and in ten thousand turns of many, and most messages that ask for nothing stay below
the floor.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from model.embedding import Embedder
from retrieval.past.feature import Values, find_candidates
from retrieval.past.row import build_rules_name
from retrieval.past.turn_cache import current_table
from retrieval.past.turn_table import Mask, TurnTable
from retrieval.past.weight import load_weights
from store.search.turn_index import TurnIndex, TurnKey
from text.language import has_korean

CUT = 0.03
"""Unasked, no turn is shown whose score is a smaller share of the best one's: what is left of 1,500 tokens holds 95 %
of the right turns in half of them."""


@dataclass(frozen=True, slots=True)
class FoundTurn:
    """A turn that a search found. ``score``: from 0 to 1, how likely it is what is asked for; ``words``: its BM25;
    ``meaning``: its cosine, None without a vector; ``hop``: 1 for the query itself, 2 where only rare words of the
    first finds led to it."""

    key: TurnKey
    score: float
    words: float
    meaning: float | None
    hop: int


@dataclass(frozen=True, slots=True)
class SearchedPast:
    """The turns that are searched: those of ``sessions``, each along its path; of ``session_id`` only turns before
    ``before``."""

    session_id: str
    before: int
    sessions: Collection[str]


def find_turns(
    index: TurnIndex,
    embedder: Embedder,
    query: str,
    searched: SearchedPast,
    now: datetime,
    limit: int,
) -> list[FoundTurn]:
    """Returns the ``limit`` turns that fit best, the best first. A later one may have a higher score, because the order
    leaves out how near a turn comes by itself. Raises ``EmbeddingFailed``.

    ``now``: what «last week» counts from, in the user's time zone.
    """
    vector = embedder.query(query)
    with current_table(index, build_rules_name(embedder)) as table:
        mask = table.choose_searched(searched.sessions, searched.session_id, searched.before)
        return rank_turns(table, mask, vector, query, now, limit, embedder.name)


def read_floor(query: str) -> float:
    """Returns the least score of the best turn with which any is shown unasked. It is one for each language, for
    Korean messages look more like questions about what was said (``bench.train.past_turn.UNRELATED_ABOVE``)."""
    return load_weights().floors["ko" if has_korean(query) else "en"]


def keep_fitting(scores: Sequence[float], floor: float) -> list[bool]:
    """Returns which of the turns found for a message are shown: none when the best score is below the floor."""
    best = max(scores, default=0.0)
    return [best >= floor and score >= CUT * best for score in scores]


def rank_turns(
    table: TurnTable, searched: Mask, vector: Values, query: str, now: datetime, limit: int, embedder: str
) -> list[FoundTurn]:
    """Returns the best turns among those ``searched``. ``vector``: of the query, by the model named ``embedder``."""
    if not searched.any():
        return []
    weights = load_weights()
    found = find_candidates(table, searched, vector, query, now)
    scores = weights.scores(found, query, vector, embedder)
    best = np.argsort(-weights.order_sums(found.features), kind="stable")[:limit]
    return [
        FoundTurn(
            table.key(int(found.positions[at])),
            float(scores[at]),
            float(found.words[at]),
            None if np.isnan(found.meaning[at]) else float(found.meaning[at]),
            int(found.hop[at]),
        )
        for at in best
    ]
