from __future__ import annotations

from collections import Counter

import numpy as np

from bench.train.router import RouterExample, learn_router_weights, load_router_examples
from graph.choice.feature import LABELS, Label, hash_letter_runs
from graph.choice.router import Router


def test_each_class_has_examples_in_both_languages_and_no_example_is_there_twice() -> None:
    rows = load_router_examples()
    korean = Counter(row.label for row in rows if any("가" <= letter <= "힣" for letter in row.question))
    every = Counter(row.label for row in rows)
    assert all(korean[label] >= 150 and every[label] - korean[label] >= 150 for label in LABELS)
    assert len({(row.question, row.previous) for row in rows}) == len(rows)


def test_a_few_examples_are_learned() -> None:
    few = [RouterExample(label, f"{word} {tail}", None) for label, word in _WORDS for tail in ("", "please", "now")]
    weights = learn_router_weights(few)
    router = Router(weights, lambda text: np.zeros(len(weights.meaning), np.float32))
    assert weights.letters.shape[1] == len(LABELS)
    assert router.route("clock please").label == "time"


_WORDS: tuple[tuple[Label, str], ...] = (("time", "clock clock"), ("calculate", "plus minus"), ("none", "banana"))


def test_runs_of_letters_are_in_order_and_of_length_one() -> None:
    places, values = hash_letter_runs("지금 몇 시야?")
    assert (np.diff(places) > 0).all()
    assert abs(np.linalg.norm(values) - 1) < 1e-6
