"""Data set: how much of the turns that answer a question every form of memory holds, over LoCoMo, LongMemEval or BFCL.

``--live`` lets the chat model answer every question from every form, too, and says the F1 of its answers and, unless
the model is small, what a judge says of the memory. ``evidence`` measures the same data without a play and any model.
"""

from __future__ import annotations

import argparse

from bench import models as bench_models
from bench.public.dataset import source
from bench.public.dataset.dataset import Dataset
from bench.public.figure import build_dataset_report
from bench.public.measure import measure_conversation
from evaluation.run import is_judge_trusted
from model.modelset import ModelSet


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of this bench."""
    source.add_arguments(parser)
    parser.add_argument("--rate", type=float, default=0.3, help="the compression rate, 0.1 to 0.5")
    parser.add_argument("--model", action="store_true", help="the settings' model writes the memory (else: code alone)")
    parser.add_argument("--live", action="store_true", help="the chat model also answers every question")
    bench_models.add_arguments(parser)


def run(args: argparse.Namespace) -> dict[str, object]:
    """Returns the figures of every data set by category and form; reads all files before it measures anything."""
    datasets = source.load_datasets(args.locomo, args.longmemeval, args.bfcl, args.questions)
    models = bench_models.models(args) if args.model or args.live or args.url else bench_models.codes()
    return {
        "model": models.name,
        "rate": args.rate,
        "datasets": [measure_dataset(dataset, models, args.rate, args.live) for dataset in datasets],
    }


def measure_dataset(dataset: Dataset, models: ModelSet, rate: float, live: bool) -> dict[str, object]:
    """Returns the figures of one data set."""
    judged = is_judge_trusted(models)
    rows = [
        row
        for conversation in dataset.conversations
        for row in measure_conversation(dataset, conversation, models, rate, live=live, judged=judged)
    ]
    return build_dataset_report(dataset, rows)
