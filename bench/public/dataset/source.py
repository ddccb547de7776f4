"""The data sets that the user names by their files."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from bench.public.dataset import bfcl, locomo, longmemeval
from bench.public.dataset.dataset import Dataset


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options that name the files."""
    parser.add_argument("--locomo", type=Path, help="a file of LoCoMo")
    parser.add_argument("--longmemeval", type=Path, help="a file of LongMemEval")
    parser.add_argument(
        "--bfcl", type=Path, nargs="+", default=(), help="histories and questions of BFCL's memory part"
    )
    parser.add_argument("--questions", type=int, help="at most this many questions of each data set, spread evenly")


def load_datasets(
    locomo_file: Path | None, longmemeval_file: Path | None, bfcl_files: Sequence[Path], questions: int | None = None
) -> list[Dataset]:
    """Returns the data sets whose files are named, with at most so many ``questions`` each; reads all files first, so
    that a mistake is found before anything runs. Raises ``BadDataset`` and ``BadTextFile``."""
    datasets = []
    if locomo_file:
        datasets.append(locomo.load_locomo(locomo_file))
    if longmemeval_file:
        datasets.append(longmemeval.load_longmemeval(longmemeval_file))
    if bfcl_files:
        datasets.append(bfcl.load_bfcl(bfcl_files))
    return datasets if questions is None else [dataset.limit_questions(questions) for dataset in datasets]
