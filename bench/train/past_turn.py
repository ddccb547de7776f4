"""Learns ``model.json`` from the questions in ``past_data/``: ``python -m bench.train.past_turn --data DIR``.

``DIR`` holds the conversations that the questions are about and that do not come with Gieok: ``memory`` (BFCL v4,
Apache-2.0) and ``dialogue`` (HG-TODS and τ-bench, MIT). Nothing is random. The figures that it prints are of questions
about conversations, and of messages, that the weights were not learned from.

Weights of turns: the softmax of the scores of a question's candidates against its right turns (Cao et al. 2007,
ListNet), with a penalty that draws all weights to zero but that of ``sum``, and none but those of ``FREE`` below zero.
A logistic model of that score, the cosine and the covered share then gives the probability.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.train.material import (
    FEW,
    TRAINING,
    Corpus,
    TrainingQuestion,
    read_asking,
    read_corpora,
    read_questions,
    read_unrelated,
)
from model.embedding import BuiltIn, Embedder
from retrieval.past.feature import FEATURES, Candidates, Values, find_candidates
from retrieval.past.weight import PastTurnWeights, compute_probabilities, likely_inputs, make_recall_inputs

FREE = ("length", "generic", *(name for name in FEATURES if name.endswith(" ko")))
PENALTY, RECALL_PENALTY = 30.0, 10.0
STEPS, PACE = 400, 0.03
UNRELATED_ABOVE = 0.07
"""The share of unrelated messages that may have a turn above the floor. Two in five of them were made to look like
questions about the past; of everyday ones less than 5 % reach it then."""
SIZES = (250, 500, 1000)
HEADING_TOKENS = 8


@dataclass(frozen=True, slots=True)
class TurnExample:
    """A question or an unrelated message, with its candidates in one corpus; ``is_right``: those that answer it."""

    text: str
    corpus: Corpus
    source: str
    found: Candidates
    vector: Values
    is_right: Values
    right: int


Floats = NDArray[np.floating[Any]]
Messages = dict[str, tuple[Values, bool]]
"""By message, what ``make_recall_inputs`` gives for it, and whether it asks for something of the past."""


def learn_weights(
    examples: Sequence[TurnExample],
    unrelated: Sequence[TurnExample],
    asking: Mapping[str, Values],
    embedder: str,
    digest: str = "",
) -> PastTurnWeights:
    """Learns all but ``fits`` and ``floors``. ``asking``: vectors by message, of more that ask for something of the
    past."""
    order = _fit_order([example for example in examples if example.is_right.any()])
    right = np.concatenate([example.is_right for example in examples])
    cosines = np.concatenate([example.found.meaning for example in examples])
    usual = round(float(cosines[right > 0].mean()), 4)
    inputs = [likely_inputs(example.found, example.found.features @ order, usual) for example in examples]
    likely = _fit_logistic(np.concatenate(inputs)[:, :-1], right, np.ones(len(right)), 1.0)
    known = _gather_messages(examples, unrelated, asking)
    recall, bias = _fit_recall(known)
    return PastTurnWeights(
        {name: round(float(weight), 4) for name, weight in zip(FEATURES, order, strict=True)},
        [round(float(value), 4) for value in likely],
        usual,
        recall,
        bias,
        [1.0, 1.0, 0.0],
        embedder,
        {},
        digest,
    )


def _gather_messages(
    examples: Sequence[TurnExample], unrelated: Sequence[TurnExample], asking: Mapping[str, Values]
) -> Messages:
    """Returns what is known of every message, and whether it asks for something of the past."""
    vectors = {example.text: example.vector for example in (*examples, *unrelated)} | dict(asking)
    silent = {example.text for example in unrelated}
    return {text: (make_recall_inputs(text, vector), text not in silent) for text, vector in vectors.items()}


def fit_fits(left_out: Sequence[LeftOutExample]) -> list[float]:
    """Returns the weights of both log-odds, and the bias, by which ``PastTurnWeights.fits`` tells whether anything
    fits. They are learned from messages that were left out: what was learned from a message knows it too well."""
    rows = [each.odds for each in left_out]
    targets = np.array([float(bool(each.example.source)) for each in left_out])
    shares = np.where(targets > 0, 0.5 / targets.sum(), 0.5 / (1 - targets).sum()) * len(targets)
    return [round(float(value), 4) for value in _fit_logistic(np.array(rows), targets, shares, 1.0)]


def _fit_order(examples: Sequence[TurnExample]) -> Floats:
    """Returns the weights whose softmax comes nearest to the right turns, by Adam over all examples at once."""
    features = np.concatenate([example.found.features for example in examples]).astype(np.float64)
    spread = features.std(axis=0) + 1e-6
    features = (features - features.mean(axis=0)) / spread
    wanted = np.concatenate([example.is_right / example.is_right.sum() for example in examples])
    sizes = [len(example.is_right) for example in examples]
    starts = np.cumsum([0, *sizes[:-1]])
    penalty = np.array([0.0 if name == "sum" else PENALTY for name in FEATURES]) / len(examples)
    least = np.array([-np.inf if name in FREE else 0.0 for name in FEATURES])
    weights = mean = square = np.zeros(len(FEATURES))
    for step in range(1, STEPS + 1):
        scores = features @ weights
        powers = np.exp(scores - np.repeat(np.maximum.reduceat(scores, starts), sizes))
        likely = powers / np.repeat(np.add.reduceat(powers, starts), sizes)
        slope = features.T @ (likely - wanted) / len(examples) + penalty * weights
        mean, square = 0.9 * mean + 0.1 * slope, 0.99 * square + 0.01 * slope**2
        move = mean / (1 - 0.9**step) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
        weights = np.maximum(weights - PACE * move, least)
    order: Floats = weights / spread
    return order


def _fit_recall(known: Messages) -> tuple[Values, float]:
    """Returns the weights of ``make_recall_inputs`` and the bias, by Adam: messages that ask count like others."""
    inputs = np.array([values for values, _ in known.values()], np.float32)
    targets = np.array([float(asks) for _, asks in known.values()], np.float32)
    middle = inputs.mean(axis=0)
    rows = np.column_stack([inputs - middle, np.ones(len(inputs), np.float32)])
    shares = np.where(targets > 0, 0.5 / targets.sum(), 0.5 / (1 - targets).sum()) * len(targets)
    weights = mean = square = np.zeros(rows.shape[1], np.float32)
    drawn = np.append(np.full(inputs.shape[1], RECALL_PENALTY, np.float32), 0)
    for step in range(1, STEPS + 1):
        slope = (
            rows.T @ (shares * (compute_probabilities(rows @ weights) - targets)).astype(np.float32) + drawn * weights
        )
        mean, square = 0.9 * mean + 0.1 * slope, 0.99 * square + 0.01 * slope**2
        pace = PACE * (1 - step / (STEPS + 20))
        weights = weights - pace * mean / (1 - 0.9**step) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
    rounded = np.round(weights[:-1], 4).astype(np.float32)
    return rounded, round(float(weights[-1] - middle @ rounded), 4)


def _fit_logistic(inputs: Floats, targets: Floats, shares: Floats, penalty: float) -> Floats:
    """Returns weights and bias by Newton's method, as one row."""
    rows = np.column_stack([inputs, np.ones(len(inputs))]).astype(np.float64)
    ridge = np.diag([penalty] * inputs.shape[1] + [1e-9])
    weights = np.zeros(rows.shape[1])
    for _ in range(12):
        likely = 1 / (1 + np.exp(-np.clip(rows @ weights, -30, 30)))
        slope = rows.T @ (shares * (likely - targets)) + ridge @ weights
        bend = (rows * (shares * likely * (1 - likely))[:, None]).T @ rows + ridge
        weights = weights - np.linalg.solve(bend, slope)
    return weights


# --- figures of what was left out ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LeftOutExample:
    """An example, and weights that were not learned from it."""

    example: TurnExample
    weights: PastTurnWeights

    @property
    def odds(self) -> list[float]:
        """The log-odds that the message asks for something, and that the likeliest turn says it."""
        asked = self.weights.recall_odds(self.example.text, self.example.vector, self.weights.embedder)
        return [asked, float(self.weights.turn_odds(self.example.found).max())]

    @property
    def order_sums(self) -> Values:
        return self.weights.order_sums(self.example.found.features)

    def best(self, fits: Sequence[float]) -> float:
        """Returns the score of the best turn."""
        weights = replace(self.weights, fits=[*fits])
        return float(weights.scores(self.example.found, self.example.text, self.example.vector, weights.embedder).max())


def leave_out(
    examples: Sequence[TurnExample], unrelated: Sequence[TurnExample], asking: Mapping[str, Values], embedder: str
) -> list[LeftOutExample]:
    """Returns every example once, with what was learned without its conversation; of the unrelated messages a half is
    left out with each conversation."""
    left_out = list[LeftOutExample]()
    texts = sorted({example.text for example in unrelated})
    for turn, source in enumerate(sorted({example.source for example in examples})):
        left = set(texts[turn % 2 :: 2])
        weights = learn_weights(
            [example for example in examples if example.source != source],
            [example for example in unrelated if example.text not in left],
            asking,
            embedder,
        )
        some = [example for example in examples if example.source == source]
        some += [example for example in unrelated if example.text in left]
        left_out += [LeftOutExample(example, weights) for example in some]
    return left_out


def choose_floor(left_out: Sequence[LeftOutExample], fits: Sequence[float], language: str) -> float:
    """Returns the score that at most ``UNRELATED_ABOVE`` of the unrelated messages in a language exceed."""
    own = [each for each in left_out if each.example.corpus.language == language and not each.example.source]
    return round(float(np.quantile(np.array([each.best(fits) for each in own]), 1 - UNRELATED_ABOVE)), 3)


def show_figures(left_out: Sequence[LeftOutExample], fits: Sequence[float], floors: Mapping[str, float]) -> str:
    """Returns in Markdown what share of the right turns has room, and what passes the floor."""
    asked = [each for each in left_out if each.example.source]
    whole = [each for each in asked if each.example.corpus.is_joined]
    lines = ["| tokens | sum | learned | learned, several turns |", "|---|---|---|---|"]
    by_sum = FEATURES.index("sum")
    for size in SIZES:
        plain = [_share_of_right(each.example, each.example.found.features[:, by_sum], size) for each in whole]
        learned = [_share_of_right(each.example, each.order_sums, size) for each in whole]
        several = [share for share, each in zip(learned, whole, strict=True) if each.example.right > 1]
        lines.append(
            f"| {size} | " + " | ".join(f"{np.mean(shares):.3f}" for shares in (plain, learned, several)) + " |"
        )
    few = [each for each in asked if len(each.example.corpus.table) <= FEW]
    for name, group in (("all conversations", whole), ("a few turns", few)):
        for language, floor in floors.items():
            own = [each.best(fits) >= floor for each in group if each.example.corpus.language == language]
            lines.append(f"\nfloor {floor} ({language}), {name}: {np.mean(own):.3f} of {len(own)} questions pass")
    return "\n".join(lines)


def _share_of_right(example: TurnExample, scores: Values, room: int) -> float:
    """Returns the share of the right turns among the best that have room."""
    held = 0.0
    for at in np.argsort(-scores, kind="stable"):
        tokens = example.corpus.tokens[example.found.positions[at]] + HEADING_TOKENS
        if tokens <= room:
            room -= tokens
            held += float(example.is_right[at])
    return held / example.right


def examples_of(
    corpora: Sequence[Corpus], questions: Sequence[TrainingQuestion], embedder: Embedder
) -> list[TurnExample]:
    """Returns the examples of all questions, each in every corpus that has its conversation."""
    return [
        _build_example(corpus, question.text, question.source, corpus.positions(question), embedder)
        for corpus in corpora
        for question in questions
        if corpus.holds(question)
    ]


def unrelated_examples(corpora: Sequence[Corpus], embedder: Embedder) -> list[TurnExample]:
    """Returns the examples of unrelated messages, each in the joined corpus of its language and in one of the corpora
    of a few turns."""
    examples = list[TurnExample]()
    for language in ("en", "ko"):
        own = [corpus for corpus in corpora if corpus.language == language]
        joined = [corpus for corpus in own if corpus.is_joined]
        few = [corpus for corpus in own if len(corpus.table) <= FEW]
        for at, text in enumerate(read_unrelated(language)):
            for corpus in (*joined, few[at % len(few)]):
                examples.append(_build_example(corpus, text, "", [], embedder))
    return examples


def _build_example(corpus: Corpus, text: str, source: str, right: Sequence[int], embedder: Embedder) -> TurnExample:
    vector = embedder.query(text)
    found = find_candidates(corpus.table, corpus.table.places["counts"], vector, text, corpus.now)
    is_right = np.isin(found.positions, right).astype(np.float32)
    return TurnExample(text, corpus, source, found, vector, is_right, len(right))


def hash_training_files() -> str:
    """Returns the hash that tells these training files from any others."""
    files = sorted(file for file in TRAINING.iterdir() if file.suffix in (".txt", ".tsv"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


def train_weights(data: Path, embedder: Embedder) -> tuple[PastTurnWeights, str]:
    """Returns the weights, and the figures of what was left out."""
    corpora, questions = read_corpora(data, embedder), read_questions(data)
    examples, unrelated = examples_of(corpora, questions, embedder), unrelated_examples(corpora, embedder)
    asking = {text: embedder.query(text) for text in read_asking()}
    left_out = leave_out(examples, unrelated, asking, embedder.name)
    fits = fit_fits(left_out)
    floors = {language: choose_floor(left_out, fits, language) for language in ("en", "ko")}
    weights = learn_weights(examples, unrelated, asking, embedder.name, hash_training_files())
    return replace(weights, fits=fits, floors=floors), show_figures(left_out, fits, floors)


def write_trained_weights() -> str:
    """Writes the weights that the search reads; returns the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    weights, figures = train_weights(parser.parse_args().data, BuiltIn())
    weights.save()
    return figures


if __name__ == "__main__":
    sys.stdout.write(write_trained_weights() + "\n")
