"""One score from two: the cosine of the vectors and BM25.

The cosine is brought to 0…1 within the candidates of one query, BM25 by the highest score that the question's words
could give; then they are added with weights. Reciprocal ranks, the usual way, throw away how far apart the scores are
and come out below the better half on English (bench retrieval).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retrieval.document import Hit

WORDS = 0.6
"""What the words of a question add, against 1 for the cosine, where question and passage are in one language.

From 0.5 to 0.65 the fused order is on no set worse than the better of both (bench retrieval); 0.7 costs Korean
questions in people's own words, 0.4 English ones made from a passage.
"""
FOREIGN = 0.05
"""The same where they are not: then common words are names and code at best, and the meaning must lead."""
CANDIDATES = 100
"""How many of each search are looked at."""
Scores = NDArray[Any]


def fuse(cosine: Scores, cover: Scores, foreign: NDArray[np.bool_]) -> NDArray[np.float64]:
    """A score from 0 to 1 for every candidate. ``cover``: BM25 over its bound; ``foreign``: in another language."""
    if not len(cosine):
        return np.empty(0)
    spread = float(cosine.max() - cosine.min())
    dense = (cosine - cosine.min()) / spread if spread > 1e-9 else np.ones(len(cosine))
    weight = np.where(foreign, FOREIGN, WORDS)
    fused: NDArray[np.float64] = (dense + weight * cover) / (1 + WORDS)
    return fused


def ranks(scores: Scores, found: NDArray[np.bool_]) -> list[int | None]:
    """The rank of each candidate among those that this search found, from 1."""
    order = [int(at) for at in np.argsort(-scores, kind="stable") if found[at]]
    place = {at: rank for rank, at in enumerate(order, 1)}
    return [place.get(at) for at in range(len(scores))]


def nearness(hits: Sequence[Hit]) -> float:
    """How near the documents come to a question: the best cosine, and a quarter of the best share of its words that a
    passage covers; -1 without hits. Its scale is the embedding model's (``Embedder.near``)."""
    if not hits:
        return -1.0
    return max(hit.cosine for hit in hits) + 0.25 * max(hit.cover for hit in hits)
