"""The formula of the overall score, by hand, and the bands."""

from __future__ import annotations

import pytest

from evaluation.judge.criterion import (
    BANDS,
    CRITERIA,
    EMPTY,
    NOISE_BANDS,
    WEIGHTS,
    Criterion,
    compute_overall_score,
    find_score_band,
)
from tests.table import table


@table(
    "relevance, completeness, accuracy, noise, expected",
    [
        (10, 10, 10, 0, 100),
        (0, 0, 0, 0, 10),
        (0, 0, 0, 10, 0),
        (10, 10, 10, 10, 90),
        (10, 0, 0, 10, 35),
        (0, 10, 0, 10, 30),
        (0, 0, 10, 10, 25),
        (9, 8, 9, 1, 87),  # 31.5 + 24 + 22.5 + 9
        (7.5, 6, 5, 4, 62.75),  # 26.25 + 18 + 12.5 + 6
        (2, 4, 7, 3.5, 43),  # 7 + 12 + 17.5 + 6.5
    ],
)
def test_overall_score_is_the_one_computed_by_hand(
    relevance: float, completeness: float, accuracy: float, noise: float, expected: float
) -> None:
    scores: dict[Criterion, float] = {
        "relevance": relevance,
        "completeness": completeness,
        "accuracy": accuracy,
        "noise": noise,
    }
    assert compute_overall_score(scores) == expected


def test_empty_memory_makes_ten_points() -> None:
    assert set(EMPTY) == set(CRITERIA)
    assert compute_overall_score(EMPTY) == 10


def test_weights_add_up_to_one() -> None:
    assert sum(WEIGHTS.values()) == pytest.approx(1)


@table(
    "score, expected",
    [
        *[(10, 0), (9, 0), (8, 1), (7, 1), (6, 2), (5, 2), (4, 2), (3, 3), (1, 3), (0, 4)],
        *[(8.6, 0), (8.5, 1), (8.4, 1), (6.5, 2), (3.5, 3), (0.5, 4), (0.4, 4), (0.6, 3)],
    ],
)
def test_band_of_a_score_where_higher_is_better(score: float, expected: int) -> None:
    for criterion in ("relevance", "completeness", "accuracy"):
        assert find_score_band(criterion, score) == expected, criterion


@table(
    "score, expected",
    [
        *[(0, 0), (1, 0), (2, 1), (3, 1), (4, 2), (6, 2), (7, 3), (8, 3), (9, 4), (10, 4)],
        *[(1.4, 0), (1.5, 1), (3.5, 2), (6.5, 3), (8.5, 4)],
    ],
)
def test_band_of_noise_where_lower_is_better(score: float, expected: int) -> None:
    assert find_score_band("noise", score) == expected


@pytest.mark.parametrize("bands", [BANDS, NOISE_BANDS])
def test_every_whole_score_lies_in_one_band(bands: tuple[tuple[float, float], ...]) -> None:
    counts = [sum(low <= score <= high for low, high in bands) for score in range(11)]
    assert counts == [1] * 11
