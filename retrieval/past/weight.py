"""The learned weights of a search in past turns: ``model.json``, which ``bench.train.past_turn`` writes."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retrieval.past.feature import FEATURES, Candidates, Values
from retrieval.past.phrase import hash_phrases

COSINE_ZERO, COSINE_SCALE = 0.82, 10.0
"""Cosines of multilingual-e5-small lie close together; this brings them to about -1…1."""
RECALL_VECTOR, RECALL_PHRASES = 10.0, 6.0
"""Vectors of queries differ by about a tenth of their length; phrases are the surer sign."""
FILE = Path(__file__).with_name("model.json")


@dataclass(frozen=True, slots=True, eq=False)
class PastTurnWeights:
    """What a search weighs. Turns come in the ``order`` of a weighted sum of their features; three logistic models then
    tell how likely they are what is asked for.

    ``order``: by feature. ``likely``: of the order's sum, the cosine and the covered share, with a bias: that a turn
    says what is asked for, when something of the past is asked for. The order leaves out the cosine as it is, for it
    tells whether anything fits and not what fits best. ``usual_cosine``: of a right turn, for turns without a vector.
    ``recall``: by the dimensions of the query's vector, then by its phrases (``retrieval.past.phrase``), that a message
    asks for something of the past; it fits the vectors of ``embedder`` alone. ``fits``: of these log-odds and of those
    of the likeliest turn, with a bias: that a turn says what this message asks for. ``floors``: by the language of a
    message, the least of that with which turns are shown unasked. ``digest``: of the files that it was learned from.
    """

    order: dict[str, float]
    likely: list[float]
    usual_cosine: float
    recall: Values
    recall_bias: float
    fits: list[float]
    embedder: str
    floors: dict[str, float]
    digest: str

    def order_sums(self, features: Values) -> Values:
        """Returns the sums by which turns are ordered, higher ones first."""
        sums: Values = features @ np.array([self.order[name] for name in FEATURES], np.float32)
        return sums

    def turn_odds(self, found: Candidates) -> Values:
        """Returns for each turn the log-odds that it says what is asked for, when something is asked for."""
        inputs = likely_inputs(found, self.order_sums(found.features), self.usual_cosine)
        return np.asarray(inputs @ self.likely, np.float32)

    def recall_odds(self, query: str, vector: Values, embedder: str) -> float:
        """Returns the log-odds that a message asks for something of the past; 0 for the vectors of another model."""
        if embedder != self.embedder:
            return 0.0
        return float(make_recall_inputs(query, vector) @ self.recall + self.recall_bias)

    def scores(self, found: Candidates, query: str, vector: Values, embedder: str) -> Values:
        """Returns for each turn how likely it is what the message asks for: for the likeliest how likely anything fits
        at all, for the others a share of it."""
        odds = self.turn_odds(found)
        by_recall, by_turn, bias = self.fits
        fits = by_recall * self.recall_odds(query, vector, embedder) + by_turn * float(odds.max()) + bias
        likelihoods = compute_probabilities(odds)
        scores: Values = compute_probabilities(np.array([fits])) * likelihoods / likelihoods.max()
        return scores

    def save(self, file: Path = FILE) -> None:
        data = asdict(self) | {"recall": [round(float(weight), 4) for weight in self.recall]}
        file.write_text(json.dumps(data, indent=1) + "\n", "utf-8")


@cache
def load_weights() -> PastTurnWeights:
    """Returns the weights that come with this version."""
    data = json.loads(FILE.read_text("utf-8"))
    return PastTurnWeights(**data | {"recall": np.array(data["recall"], np.float32)})


def likely_inputs(found: Candidates, sums: NDArray[np.floating[Any]], usual_cosine: float) -> Values:
    """Returns what the probability of a turn is computed from, a row per turn: the sum of the order, the cosine, the
    covered share, 1."""
    cosines = np.where(np.isnan(found.meaning), usual_cosine, found.meaning)
    share = found.features[:, FEATURES.index("share")]
    return np.column_stack([sums, COSINE_SCALE * (cosines - COSINE_ZERO), share, np.ones(len(sums))])


def make_recall_inputs(query: str, vector: Values) -> Values:
    """Returns what the probability that a message asks for something of the past is computed from."""
    return np.concatenate([RECALL_VECTOR * vector, RECALL_PHRASES * hash_phrases(query)]).astype(np.float32)


def compute_probabilities(values: NDArray[np.floating[Any]]) -> Values:
    """Returns the probabilities of log-odds."""
    return np.asarray(1 / (1 + np.exp(-np.clip(values, -30, 30))), np.float32)
