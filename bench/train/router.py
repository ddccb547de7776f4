"""Learns ``router.npz`` from ``examples.jsonl``: ``python -m bench.train.router``.

Multinomial logistic regression with a quadratic penalty, by accelerated gradient descent over all examples at once
(Nesterov 1983); nothing is random. A first pass learns only from examples without a message before. Its router labels
the messages before the other examples, for the second pass.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graph.choice.feature import (
    BUCKETS,
    FACTS,
    LABELS,
    Label,
    Values,
    extract_message_core,
    hash_letter_runs,
    read_message_facts,
)
from graph.choice.router import FILE, Router, RouterWeights
from model.embedding import BuiltIn

EXAMPLES = Path(__file__).with_name("router_data") / "examples.jsonl"
MEANING, LETTERS = 6.0, 5.0
"""Factors of the embedding and the letters beside the facts, before anything is learned."""
PENALTY = 1e-4
STEPS = 600


@dataclass(frozen=True, slots=True)
class RouterExample:
    """A message, its label, and the message before it, if that message matters."""

    label: Label
    question: str
    previous: str | None


def load_router_examples(file: Path = EXAMPLES) -> list[RouterExample]:
    """Returns the examples of a file of JSON lines."""
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    return [RouterExample(row["label"], row["question"], row.get("previous")) for row in rows]


def hash_router_examples(file: Path = EXAMPLES) -> str:
    """Returns the hash that tells these examples from any others."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def learn_router_weights(rows: list[RouterExample]) -> RouterWeights:
    """Learns the weights in two passes."""
    embedder = BuiltIn()
    vectors = {
        text: embedder.query(extract_message_core(text))
        for text in {row.question for row in rows} | _collect_previous_messages(rows)
    }
    first = _fit_router_weights([row for row in rows if row.previous is None], vectors, {})
    router = Router(first, lambda text: embedder.query(text))
    return _fit_router_weights(
        rows, vectors, {text: router.route(text).label for text in _collect_previous_messages(rows)}
    )


def _collect_previous_messages(rows: list[RouterExample]) -> set[str]:
    return {row.previous for row in rows if row.previous}


class _Letters:
    """The letter runs of all rows as a sparse matrix, for products from both sides."""

    def __init__(self, texts: list[str]) -> None:
        row_runs = [hash_letter_runs(extract_message_core(text)) for text in texts]
        self._places = np.concatenate([places for places, _ in row_runs])
        self._values = LETTERS * np.concatenate([values for _, values in row_runs])[:, None]
        sizes = [len(places) for places, _ in row_runs]
        self._starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        self._order = np.argsort(self._places, kind="stable")
        self._rows = np.repeat(np.arange(len(texts)), sizes)[self._order]
        self._used, self._firsts = np.unique(self._places[self._order], return_index=True)

    def times(self, weights: Values) -> Values:
        """Multiplies the matrix by ``weights``: shape (rows, labels) from (buckets, labels)."""
        return np.add.reduceat(self._values * weights[self._places], self._starts, axis=0)

    def multiply_transposed(self, errors: Values) -> Values:
        """Multiplies the transposed matrix by ``errors``: shape (buckets, labels) from (rows, labels)."""
        sums = np.zeros((BUCKETS, errors.shape[1]), np.float32)
        sums[self._used] = np.add.reduceat(self._values[self._order] * errors[self._rows], self._firsts, axis=0)
        return sums


def _fit_router_weights(
    rows: list[RouterExample], vectors: dict[str, Values], before: dict[str, Label]
) -> RouterWeights:
    meanings = np.stack([vectors[row.question] for row in rows])
    middle = meanings.mean(axis=0)
    fact_rows = [read_message_facts(row.question, row.previous, before.get(row.previous or "", "none")) for row in rows]
    dense = np.hstack([MEANING * (meanings - middle), np.stack(fact_rows), np.ones((len(rows), 1))]).astype(np.float32)
    targets = np.eye(len(LABELS), dtype=np.float32)[[LABELS.index(row.label) for row in rows]]
    learned, letters = _descend_router_gradient(dense, _Letters([row.question for row in rows]), targets)
    meaning, facts_, bias = (
        np.split(MEANING * learned[:-1], [meanings.shape[1]])[0],
        learned[-1 - FACTS : -1],
        learned[-1],
    )
    return RouterWeights(meaning, LETTERS * letters, facts_, bias - middle @ meaning, "")


def _descend_router_gradient(dense: Values, letters: _Letters, wanted: Values) -> tuple[Values, Values]:
    """Returns the weights of the dense part and of the letters at the least loss."""
    count, labels = wanted.shape
    step = np.float32(1 / (0.5 * np.linalg.eigvalsh(dense.T @ dense / count)[-1] + 0.25 * LETTERS**2 + PENALTY))
    now = ahead = (np.zeros((dense.shape[1], labels), np.float32), np.zeros((BUCKETS, labels), np.float32))
    pace = 1.0
    for _ in range(STEPS):
        errors = (_compute_softmax(dense @ ahead[0] + letters.times(ahead[1])) - wanted) / count
        slopes = (dense.T @ errors, letters.multiply_transposed(errors))
        new = tuple(part - step * (slope + PENALTY * part) for part, slope in zip(ahead, slopes, strict=True))
        faster = (1 + np.sqrt(1 + 4 * pace**2)) / 2
        push = np.float32((pace - 1) / faster)
        ahead = (new[0] + push * (new[0] - now[0]), new[1] + push * (new[1] - now[1]))
        now, pace = (new[0], new[1]), faster
    return now


def _compute_softmax(scores: NDArray[np.float32]) -> Values:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    likely: Values = powers / powers.sum(axis=1, keepdims=True)
    return likely


def write_router_file() -> None:
    """Writes the file that the router reads, with the letters in half precision to keep the file small."""
    weights = learn_router_weights(load_router_examples())
    np.savez_compressed(
        FILE,
        meaning=weights.meaning,
        letters=weights.letters.astype(np.float16),
        facts=weights.facts,
        bias=weights.bias,
        digest=hash_router_examples(),
    )


if __name__ == "__main__":
    write_router_file()
