"""Public data: how much of what the questions need still stands in the next prompt, by category and form of memory.

The files are not part of Gieok: ``--locomo``, ``--longmemeval`` and ``--bfcl`` name them. No model answers; summaries
and folds are written as the profile says: by code alone, or by the model (``--model``).
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from bench import models as bench_models
from evaluation.public import figure, measure, source
from evaluation.public.dataset import Dataset
from model.modelset import ModelSet


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of this bench."""
    parser.add_argument("--locomo", type=Path, help="a file of LoCoMo")
    parser.add_argument("--longmemeval", type=Path, help="a file of LongMemEval")
    parser.add_argument(
        "--bfcl", type=Path, nargs="+", default=(), help="histories and questions of BFCL's memory part"
    )
    parser.add_argument("--questions", type=int, help="at most this many questions of each data set, spread evenly")
    parser.add_argument("--rate", type=float, default=0.3, help="compression rate")
    parser.add_argument("--model", action="store_true", help="measure the settings' model, or that of --url")
    bench_models.add_arguments(parser)


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Returns the report of every data set; reads all files before it plays anything."""
    datasets = source.load(args.locomo, args.longmemeval, args.bfcl, args.questions)
    models = bench_models.models(args) if args.model or args.url else bench_models.codes()
    reports = {dataset.name: _report(dataset, models, args.rate) for dataset in datasets}
    return {"model": models.name, "profile": models.side.name, "rate": args.rate, **reports}


def _report(dataset: Dataset, models: ModelSet, rate: float) -> dict[str, Any]:
    began = time.monotonic()
    rows = [row for talk in dataset.conversations for row in measure.measured(dataset, talk, models, rate)]
    return {**figure.report(dataset, rows), "seconds": round(time.monotonic() - began, 1)}
