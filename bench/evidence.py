"""Evidence: how much of what a question needs stands in our next prompt, in each of its parts, and in plain searches
with the same number of tokens (``bench.public.compare``).

Gieok's own Korean and English data sets are always measured; LoCoMo, LongMemEval and BFCL are not part of Gieok, so
``--locomo``, ``--longmemeval`` and ``--bfcl`` name their files. No model is called: summaries and memory are written by
code. In our own sets each talk is a conversation of its own and the questions are asked in a new one; the others are
one conversation each, which the questions continue.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import Any

from bench.public.compare import SIZES, FormOutcome, compare_forms
from bench.public.dataset import own, source
from bench.public.dataset.dataset import Dataset
from bench.public.figure import describe_dataset
from bench.public.share import has_several_places
from bench.public.twenty import play_twenty

GOLD_SET = "locomo"
"""The data set that the keys ``default_…`` and ``several_places`` are of; without its file, all that was measured."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of this bench."""
    source.add_arguments(parser)
    parser.add_argument("--own", type=Path, default=own.FOLDER, help="the folder of our own data sets")
    parser.add_argument("--twenty", action="store_true", help="only the play of twenty conversations")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Returns the report; reads all files before it measures anything."""
    if args.twenty:
        return _twenty()
    began = time.monotonic()
    datasets = [*own.load_own_sets(args.own), *source.load_datasets(args.locomo, args.longmemeval, args.bfcl)]
    if args.questions is not None:
        datasets = [dataset.limit_questions(args.questions) for dataset in datasets]
    outcomes = [outcome for dataset in datasets for outcome in _measure(dataset)]
    main = [outcome for outcome in outcomes if outcome.dataset == GOLD_SET] or outcomes
    searched = [outcome for outcome in main if outcome.form == "ours 1500" and has_several_places(outcome.question)]
    timed = [outcome.shown.milliseconds for outcome in outcomes if outcome.form == f"ours {SIZES[0]}"]
    default = _figures(_form(main, "default"))
    return {
        "default_gold": default["gold"],
        "default_words": default["words"],
        "default_tokens": default["tokens"],
        "against_bm25": _against_bm25(outcomes),
        "several_places": _figures(searched)["gold"],
        **{f"{name}_gold": _figures(_form(_of(outcomes, name), "default"))["gold"] for name in own.LANGUAGES},
        "precision": _figures(_form(outcomes, "default"))["precision"],
        "milliseconds": round(fmean(timed), 1) if timed else None,
        "seconds": round(time.monotonic() - began, 1),
        "sets": {dataset.name: _report(dataset, _of(outcomes, dataset.name)) for dataset in datasets},
    }


def _twenty() -> dict[str, Any]:
    """Returns what a new conversation has of twenty earlier ones: the fewest answers and the most noise first."""
    results = list(play_twenty())
    return {
        "twenty_answers": min(result.answers for result in results),
        "twenty_noise": max(result.noise for result in results),
        "plays": [asdict(result) for result in results],
    }


def _measure(dataset: Dataset) -> Iterable[FormOutcome]:
    for conversation in dataset.conversations:
        yield from compare_forms(dataset.name, conversation)


def _report(dataset: Dataset, outcomes: Sequence[FormOutcome]) -> dict[str, Any]:
    """Returns the figures of a data set: of every form, and of the default prompt by kind, person and writer."""
    default = _form(outcomes, "default")
    adversarial = [outcome for outcome in default if outcome.question.adversarial]
    return {
        **describe_dataset(dataset),
        "forms": _grouped(outcomes, lambda outcome: outcome.form),
        "kinds": _grouped(default, lambda outcome: outcome.question.category),
        "people": _grouped(default, lambda outcome: outcome.conversation),
        "writers": _grouped(default, lambda outcome: outcome.question.writer),
        "never_told_with_finds": _mean([float(outcome.shown.found > 0) for outcome in adversarial]),
    }


def _grouped(outcomes: Sequence[FormOutcome], name: Any) -> dict[str, dict[str, float | None]]:
    """Returns the figures of each group, in the order in which the groups first come."""
    order = list(dict.fromkeys(map(name, outcomes)))
    groups = groupby(sorted(outcomes, key=lambda outcome: order.index(name(outcome))), name)
    return {key: _figures(list(members)) for key, members in groups if key}


def _figures(outcomes: Sequence[FormOutcome]) -> dict[str, float | None]:
    """Returns the share of all gold turns that stand there word for word, the mean share of the answers' words, the
    mean tokens, and the share of the found turns that are right. Questions that were never answered do not count."""
    told = [outcome for outcome in outcomes if not outcome.question.adversarial]
    gold, found = sum(len(outcome.question.gold) for outcome in told), sum(outcome.shown.found for outcome in told)
    return {
        "questions": len(told),
        "gold": round(sum(outcome.held for outcome in told) / gold, 4) if gold else None,
        "words": _mean([outcome.words for outcome in told if outcome.words is not None]),
        "tokens": _mean([float(outcome.shown.tokens) for outcome in told], 0),
        "found": _mean([float(outcome.shown.found) for outcome in told], 1),
        "precision": round(sum(outcome.shown.right for outcome in told) / found, 4) if found else None,
    }


def _against_bm25(outcomes: Sequence[FormOutcome]) -> float | None:
    """Returns the smallest difference of gold between our ranking and BM25, over all data sets and sizes."""
    differences = []
    for name in dict.fromkeys(outcome.dataset for outcome in outcomes):
        for size in SIZES:
            ours, plain = (
                _figures(_form(_of(outcomes, name), f"{search} {size}"))["gold"] for search in ("ours", "bm25")
            )
            if ours is not None and plain is not None:
                differences.append(round(ours - plain, 4))
    return min(differences, default=None)


def _form(outcomes: Iterable[FormOutcome], form: str) -> list[FormOutcome]:
    return [outcome for outcome in outcomes if outcome.form == form]


def _of(outcomes: Iterable[FormOutcome], dataset: str) -> list[FormOutcome]:
    return [outcome for outcome in outcomes if outcome.dataset == dataset]


def _mean(values: Sequence[float], digits: int = 4) -> float | None:
    return round(fmean(values), digits) if values else None
