"""One score from two: the cosine of the vectors and BM25.

The cosine is scaled to 0…1 within the candidates of one query, BM25 by the highest score that the question's words
could give; then both are added with weights. Reciprocal rank fusion, the usual way, ignores how far apart the scores
are, and on English ranks worse than the better of the two searches alone (bench retrieval).

The query decides how much its words count. The words lead where one passage has clearly more of them than every other,
as in a question that names its subject, and the vectors do not contradict. The words have one weight for all queries
where many passages share them, or where the vectors place that passage far back (decision 13).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

WORDS = 0.6
"""The least weight of a question's words, against 1 for the cosine, where question and passage are in one language."""
LEAD = 10.0
"""The additional weight of the words per unit of lead: the cover of the passage that has most of them minus the cover
of the next."""
AGREED = 0.8
"""The vectors do not contradict when they score that passage higher than this, from 0 to 1."""
FOREIGN = 0.05
"""The weight of the words where question and passage are in different languages: common words are then names and code
at best, and the meaning must lead."""
CANDIDATES = 100
"""How many candidates of each search are fused."""
Scores = NDArray[Any]


def fuse_scores(cosine: Scores, cover: Scores, foreign: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Returns a score from 0 to 1 for every candidate. ``cover``: BM25 over its bound; ``foreign``: whether the
    candidate is in another language than the question."""
    if not len(cosine):
        return np.empty(0)
    spread = float(cosine.max() - cosine.min())
    dense = (cosine - cosine.min()) / spread if spread > 1e-9 else np.ones(len(cosine))
    words = WORDS + LEAD * _measure_cover_lead(dense[~foreign], cover[~foreign])
    weight = np.where(foreign, FOREIGN, words)
    fused: NDArray[np.float64] = (dense + weight * cover) / (1 + words)
    return fused


def _measure_cover_lead(dense: Scores, cover: Scores) -> float:
    """Returns by how much the cover of the passage with most of the words exceeds the next; 0 where the vectors
    contradict."""
    if len(cover) < 2 or dense[np.argmax(cover)] <= AGREED:
        return 0.0
    second, best = np.partition(cover, -2)[-2:]
    return float(best - second)


def rank_candidates(scores: Scores, found: NDArray[np.bool_]) -> list[int | None]:
    """Returns the rank of each candidate among those that this search found, from 1; None for the others."""
    order = [int(position) for position in np.argsort(-scores, kind="stable") if found[position]]
    rank_of = {position: rank for rank, position in enumerate(order, 1)}
    return [rank_of.get(position) for position in range(len(scores))]
