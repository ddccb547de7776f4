"""The four criteria of the judge and the formula of the overall score (specification, memory evaluation)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Criterion = Literal["relevance", "completeness", "accuracy", "noise"]

CRITERIA: tuple[Criterion, ...] = ("relevance", "completeness", "accuracy", "noise")
WEIGHTS: dict[Criterion, float] = {"relevance": 0.35, "completeness": 0.30, "accuracy": 0.25, "noise": 0.10}
TOP = 10.0
"""The highest score of a criterion. Noise is reversed: 0 is the best."""
EMPTY: dict[Criterion, float] = dict.fromkeys(CRITERIA, 0.0)
"""The scores of an empty memory, which no model is asked about. By the formula they make 10 points of 100."""
BANDS: tuple[tuple[float, float], ...] = ((9, 10), (7, 8), (4, 6), (1, 3), (0, 0))
"""The five bands of relevance, completeness and accuracy, best first, as the lowest and highest whole score."""
NOISE_BANDS: tuple[tuple[float, float], ...] = ((0, 1), (2, 3), (4, 6), (7, 8), (9, 10))
"""The five bands of noise, best first."""


def compute_overall_score(scores: Mapping[Criterion, float]) -> float:
    """Returns the overall score, 0 to 100: (0.35 R + 0.30 C + 0.25 A + 0.10 (10 − N)) × 10."""
    shares = {name: TOP - scores[name] if name == "noise" else scores[name] for name in CRITERIA}
    return round(10 * sum(WEIGHTS[name] * share for name, share in shares.items()), 4)


def find_score_band(criterion: Criterion, score: float) -> int:
    """Returns the number of the band that a score lies in: 0 is the best, 4 the worst. A score between two bands counts
    to the nearer one, in the middle to the worse one."""
    bands = NOISE_BANDS if criterion == "noise" else BANDS
    away = [max(low - score, score - high, 0.0) for low, high in bands]
    return max(range(len(bands)), key=lambda number: (-away[number], number))
