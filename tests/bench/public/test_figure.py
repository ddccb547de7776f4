"""Figures by category and form, by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.public.answer import PublicAnswer
from bench.public.dataset import locomo
from bench.public.evidence import GoldEvidence
from bench.public.figure import TOGETHER, build_dataset_report, compute_dataset_figures, compute_percentile
from bench.public.measure import Row
from evaluation.judge.judge import Rating
from tests.bench.public.files import locomo_sample, written
from tests.table import table


def row(question: str, category: str, evidence: GoldEvidence, seconds: float = 0.1, **fields: object) -> Row:
    row = Row("locomo", "talk-1", question, category, category == "adversarial", "all", 4, evidence, 100, seconds)
    for name, value in fields.items():
        object.__setattr__(row, name, value)
    return row


ROWS = [
    row(
        "0", "temporal", GoldEvidence(1, 1, 1, 1), 0.1, answer=PublicAnswer(f1=0.5, rating=Rating("scored", overall=80))
    ),
    row("1", "multi-hop", GoldEvidence(3, 1, 2, 1), 0.3, answer=PublicAnswer(f1=1.0, rating=Rating("unscored"))),
    row("2", "adversarial", GoldEvidence(2, 0, 0, 0), 0.9),
    row("3", "temporal", GoldEvidence(), failed="context_too_long"),
]


def test_figures_of_every_category_and_of_all_but_the_adversarial_one() -> None:
    by_category = {item.category: item for item in compute_dataset_figures(ROWS)}
    assert list(by_category) == [TOGETHER, "multi-hop", "temporal", "adversarial"]
    together = by_category[TOGETHER]
    assert (together.questions, together.gold, together.failed) == (3, 4, 1)
    assert (together.verbatim, together.facts, together.without_facts) == (2 / 4, 2 / 3, 1)
    assert (together.p50, together.p95, together.tokens) == (0.1, 0.3, 100)
    assert (together.f1, together.judged, together.unscored) == (0.75, 80, 1)
    adversarial = by_category["adversarial"]
    assert (adversarial.verbatim, adversarial.facts, adversarial.without_facts) == (0.0, None, 2)
    assert (adversarial.f1, adversarial.judged) == (None, None)


def test_a_report_says_how_much_of_the_gold_is_wrong(tmp_path: Path) -> None:
    dataset = locomo.load_locomo(written(tmp_path / "talks.json", [locomo_sample()]))
    plain = build_dataset_report(dataset, ROWS)
    assert plain["wrong_gold"] == {
        "wrong": 99,
        "questions": 1540,
        "source": "dial481/locomo-audit",
        "ceiling": pytest.approx(0.9357),
    }
    assert (plain["conversations"], plain["turns"], plain["questions"], plain["unknown_gold"]) == (1, [4], 5, 1)


@table(
    "values, share, value",
    [([3, 1, 2], 0.5, 2), ([1, 2], 0.5, 1), (range(1, 101), 0.95, 95), ([7], 0.95, 7), ([], 0.5, None)],
)
def test_percentiles(values: list[float], share: float, value: float | None) -> None:
    assert compute_percentile(list(values), share) == value
