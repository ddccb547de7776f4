"""One score from two: the cosine of the vectors and BM25 (issue «Search»).

Both are brought to 0…1 within the candidates of one query and added with weights. Reciprocal ranks, the usual way,
threw away how far apart the scores are and came out below the better half on English (bench retrieval).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

DENSE = 0.7
"""Weight of the cosine, where question and passage are in one language."""
FOREIGN = 0.95
"""The same where they are not: then common words are names and code at best."""
CANDIDATES = 100
"""How many of each search are looked at."""
Scores = NDArray[Any]


def fuse(cosine: Scores, bm25: Scores, foreign: NDArray[np.bool_]) -> NDArray[np.float64]:
    """A score from 0 to 1 for every candidate. ``foreign``: in another language than the question."""
    if not len(cosine):
        return np.empty(0)
    spread = float(cosine.max() - cosine.min())
    dense = (cosine - cosine.min()) / spread if spread > 1e-9 else np.ones(len(cosine))
    top = float(bm25.max())
    lexical = bm25 / top if top > 1e-9 else np.zeros(len(bm25))
    weight = np.where(foreign, FOREIGN, DENSE)
    fused: NDArray[np.float64] = weight * dense + (1 - weight) * lexical
    return fused


def ranks(scores: Scores, found: NDArray[np.bool_]) -> list[int | None]:
    """The rank of each candidate among those that this search found, from 1."""
    order = [int(at) for at in np.argsort(-scores, kind="stable") if found[at]]
    place = {at: rank for rank, at in enumerate(order, 1)}
    return [place.get(at) for at in range(len(scores))]
