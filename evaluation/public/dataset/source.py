"""The data sets that the user names by their files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evaluation.public.dataset import bfcl, locomo, longmemeval
from evaluation.public.dataset.dataset import Dataset


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
