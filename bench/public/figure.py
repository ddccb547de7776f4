"""What the rows of a data set add up to, by category and form."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench.public.dataset.dataset import Dataset
from bench.public.evidence import GoldEvidence
from bench.public.measure import Row
from evaluation.result import average_known_values

TOGETHER = "all but adversarial"
"""The category that holds every question with an answer."""


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of one category and one form; a share or a mean is None where there is nothing to take it of.

    ``verbatim``: the share of the gold turns that stand in the context word for word. ``facts``: the share of the gold
    turns with facts whose facts all stand there; ``without_facts``: gold turns that have none and do not count in it.
    ``tokens``: mean. ``p50``, ``p95``: seconds of assembling. ``f1``: mean, 0 to 1; ``judged``: the judge's mean
    overall score, 0 to 100; ``unscored``: answers and judgements that are missing. ``failed``: forms that could not be
    assembled.
    """

    category: str
    form: str
    questions: int
    gold: int
    verbatim: float | None
    facts: float | None
    without_facts: int
    tokens: float | None
    p50: float | None
    p95: float | None
    f1: float | None
    judged: float | None
    unscored: int
    failed: int


def build_dataset_report(dataset: Dataset, rows: Sequence[Row]) -> dict[str, Any]:
    """Returns the figures of a data set as plain data, with what is known of the mistakes in its own answers."""
    return {**describe_dataset(dataset), "figures": [asdict(item) for item in compute_dataset_figures(rows)]}


def describe_dataset(dataset: Dataset) -> dict[str, Any]:
    """Returns how large a data set is, and what is known of the mistakes in its own answers, as plain data."""
    talks = dataset.conversations
    gold = None
    if dataset.gold:
        gold = {**asdict(dataset.gold), "ceiling": dataset.gold.ceiling}
    return {
        "dataset": dataset.name,
        "wrong_gold": gold,
        "conversations": len(talks),
        "turns": [len(talk.turns) for talk in talks],
        "questions": sum(len(talk.questions) for talk in talks),
        "without_gold": sum(not question.gold for talk in talks for question in talk.questions),
        "unknown_gold": sum(talk.unknown_gold for talk in talks),
        "shortened": sum(talk.shortened_count for talk in talks),
    }


def compute_dataset_figures(rows: Sequence[Row]) -> Iterator[Figures]:
    """Yields the figures by category and form: first those of all questions with an answer, then those of every
    category, then those of the adversarial ones."""
    plain = [row for row in rows if not row.adversarial]
    categories = sorted({row.category for row in plain}) + sorted({row.category for row in rows if row.adversarial})
    groups = [(TOGETHER, plain), *((name, [row for row in rows if row.category == name]) for name in categories)]
    for category, members in groups:
        for form in dict.fromkeys(row.form for row in members):
            yield _sum_figures(category, form, [row for row in members if row.form == form])


def _sum_figures(category: str, form: str, rows: Sequence[Row]) -> Figures:
    whole = [row for row in rows if not row.failed]
    total = sum((row.evidence for row in whole), GoldEvidence())
    seconds = [row.seconds for row in whole]
    answers = [row.answer for row in whole if row.answer]
    ratings = [answer.rating for answer in answers if answer.rating]
    return Figures(
        category,
        form,
        questions=len(rows),
        gold=total.gold,
        verbatim=_compute_share(total.verbatim, total.gold),
        facts=_compute_share(total.facts_held, total.with_facts),
        without_facts=total.gold - total.with_facts,
        tokens=average_known_values(row.tokens for row in whole),
        p50=compute_percentile(seconds, 0.5),
        p95=compute_percentile(seconds, 0.95),
        f1=average_known_values(answer.f1 for answer in answers),
        judged=average_known_values(rating.overall for rating in ratings),
        unscored=sum(bool(answer.why) for answer in answers) + sum(rating.overall is None for rating in ratings),
        failed=len(rows) - len(whole),
    )


def compute_percentile(values: Sequence[float], share: float) -> float | None:
    """Returns the smallest value that at least this share of the values does not exceed; None for no values."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else None


def _compute_share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
