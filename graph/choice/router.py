"""Routes a message to a tool without a language model: linear over its embedding, letters and facts (design 9.4).

A needless tool call costs more than a missed one, so a doubtful message gets no tool. ``python -m
bench.train.router`` learns ``router.npz`` from its examples.
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
from graph.choice.feature import LABELS, Label, Values, extract_message_core, hash_letter_runs, read_message_facts
from model.embedding import built_in

FILE = Path(__file__).with_name("router.npz")
MARGIN = 0.5
"""Least lead in probability of a tool over any other label; chosen on the development set."""
RECALL_LEANING = 0.2
"""Least probability of a question about what the user said where something else speaks for it, too: past turns that can
be quoted, or that come near (decision 9)."""

_log = logging.getLogger(__name__)
_LEANINGS = [LABELS.index(label) for label in ("time", "remember", "documents", "recall")]


@dataclass(frozen=True, slots=True)
class Route:
    """The label of a message, its lead in probability over the next label (0–1), and the probabilities that the message
    asks for a time or a day (``time``), wants something remembered (``wish``), means the documents (``documents``) or
    asks for something that the user said (``recall``), also where that is not its label."""

    label: Label
    margin: float
    time: float = 0.0
    wish: float = 0.0
    documents: float = 0.0
    recall: float = 0.0

    @property
    def leans_to_recall(self) -> bool:
        """Whether the message may ask for something that the user said."""
        return self.recall >= RECALL_LEANING


@dataclass(frozen=True, slots=True)
class RouterWeights:
    """The learned weights: ``meaning`` (embedding, label), ``letters`` (bucket, label), ``read_message_facts`` (fact,
    label), ``bias`` (label); ``digest`` of the examples."""

    meaning: NDArray[Any]
    letters: NDArray[Any]
    facts: NDArray[Any]
    bias: NDArray[Any]
    digest: str

    @classmethod
    def load(cls, file: Path = FILE) -> Self:
        with np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name].astype(np.float32) for name in ("meaning", "letters", "facts", "bias")}
            return cls(**arrays, digest=str(archive["digest"]))


class Router:
    """The classifier of messages. ``embed``: returns the vector of a question, as ``model.embedding.built_in``
    does."""

    def __init__(self, weights: RouterWeights, embed: Callable[[str], Values]) -> None:
        self._weights = weights
        self._embed = embed

    def route(self, question: str, previous: str | None = None) -> Route:
        """Returns the route of ``question``; no tool when the embedding fails. ``previous``: the user's message before,
        which a short question may refer to."""
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
        label: Label = LABELS[first] if margin >= MARGIN else "none"
        return Route(label, margin, *(float(likely[at]) for at in _LEANINGS))

    def _likely(self, question: str, previous: str | None, before: Label) -> Values:
        """Returns the probability of each label: shape ``(len(LABELS),)``, sum 1."""
        text, weights = extract_message_core(question), self._weights
        places, values = hash_letter_runs(text)
        scores = self._embed(text) @ weights.meaning + values @ weights.letters[places] + weights.bias
        powers = np.exp(
            (scores := scores + read_message_facts(question, previous, before) @ weights.facts) - scores.max()
        )
        likely: Values = powers / powers.sum()
        return likely


@cache
def load_router() -> Router:
    """Returns the router that this process shares, on the built-in embedding."""
    return Router(RouterWeights.load(), built_in().query)
