"""Which tool a message needs, without a model: linear over its embedding and its letters (design §9).

A tool that is not needed costs more than one that is missed, so a doubtful message gets none. The examples are in
``examples.jsonl``; ``python -m graph.choice.train`` makes ``router.npz`` of them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from errors import EmbeddingFailed
from graph.choice.feature import LABELS, Label, Values, core, facts, runs
from retrieval.embed import built_in

FILE = Path(__file__).with_name("router.npz")
MARGIN = 0.5
"""How much likelier than anything else a tool must be; chosen on the development set (decision 20)."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Route:
    """What a message is for, and by how much that is likelier than the next (0–1)."""

    label: Label
    margin: float


@dataclass(frozen=True, slots=True)
class Weights:
    """What was learned: ``meaning`` (embedding, label), ``letters`` (bucket, label), ``facts`` (fact, label), ``bias``
    (label); ``digest`` of the examples."""

    meaning: NDArray[Any]
    letters: NDArray[Any]
    facts: NDArray[Any]
    bias: NDArray[Any]
    digest: str

    @classmethod
    def load(cls, file: Path = FILE) -> Self:
        with np.load(file, allow_pickle=False) as kept:
            arrays = {name: kept[name].astype(np.float32) for name in ("meaning", "letters", "facts", "bias")}
            return cls(**arrays, digest=str(kept["digest"]))


class Router:
    """Routes messages. ``embed``: the vector of a question, of ``retrieval.embed.built_in``."""

    def __init__(self, weights: Weights, embed: Callable[[str], Values]) -> None:
        self._weights = weights
        self._embed = embed

    def route(self, question: str, previous: str | None = None) -> Route:
        """What ``question`` is for. ``previous``: the user's message before it, which a short one may lean on."""
        try:
            before = self._route(previous, None, "none").label if previous else "none"
            return self._route(question, previous, before)
        except EmbeddingFailed as error:
            _log.warning("No tool is chosen: %s", error)
            return Route("none", 0.0)

    def _route(self, question: str, previous: str | None, before: Label) -> Route:
        likely = self._likely(question, previous, before)
        second, first = np.argsort(likely)[-2:]
        margin = float(likely[first] - likely[second])
        return Route(LABELS[first] if margin >= MARGIN else "none", margin)

    def _likely(self, question: str, previous: str | None, before: Label) -> Values:
        """How likely each label is: shape ``(len(LABELS),)``, sum 1."""
        text, own = core(question), self._weights
        places, values = runs(text)
        scores = self._embed(text) @ own.meaning + values @ own.letters[places] + own.bias
        powers = np.exp((scores := scores + facts(question, previous, before) @ own.facts) - scores.max())
        likely: Values = powers / powers.sum()
        return likely


@cache
def router() -> Router:
    """The one of this process, on the built-in embedding."""
    return Router(Weights.load(), built_in().query)
