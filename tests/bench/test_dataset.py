"""The bench of public data sets: figures by category and form, and what is known of mistakes in the data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench import __main__ as command
from bench.dataset import measure_dataset
from bench.public.dataset import source
from bench.public.dataset.read import BadDataset
from bench.public.measure import BY_QUERY, FORMS
from errors import BadTextFile
from model import scripted
from tests.bench.public.files import bfcl_history, bfcl_question, locomo_sample, written, written_lines


def measured(*arguments: object) -> dict[str, Any]:
    name, args = command.parse(["dataset", *map(str, arguments)])
    result: dict[str, Any] = command.load(name).run(args)
    return result


def test_figures_by_category_and_form_and_that_part_of_the_gold_is_wrong(tmp_path: Path) -> None:
    (locomo,) = measured("--locomo", written(tmp_path / "talks.json", [locomo_sample()]))["datasets"]
    categories = {row["category"] for row in locomo["figures"]}
    assert {"all but adversarial", "multi-hop", "adversarial"} <= categories
    assert {row["form"] for row in locomo["figures"]} == {*FORMS, *BY_QUERY}
    assert (locomo["wrong_gold"]["questions"], locomo["wrong_gold"]["wrong"]) == (1540, 99)
    assert locomo["unknown_gold"] == 1
    assert {row["f1"] for row in locomo["figures"]} == {None}


def test_histories_and_questions_of_bfcl_are_one_data_set(tmp_path: Path) -> None:
    history = written_lines(tmp_path / "memory.jsonl", [bfcl_history("student", 0, "My cat is called Pixel.")])
    asked = written_lines(tmp_path / "questions.jsonl", [bfcl_question(source="My cat is called Pixel.")])
    result = measured("--bfcl", history, asked)
    (bfcl,) = result["datasets"]
    assert (bfcl["dataset"], result["rate"], bfcl["questions"], bfcl["turns"]) == ("bfcl", 0.3, 1, [1])
    shares = {item["form"]: item["verbatim"] for item in bfcl["figures"] if item["category"] == "student"}
    assert shares["full"] == shares["turns"] == 1.0


def test_live_answers_have_an_f1(tmp_path: Path) -> None:
    (dataset,) = source.load_datasets(written(tmp_path / "talks.json", [locomo_sample()]), None, (), 1)
    figures: Any = measure_dataset(dataset, scripted.build_scripted_models(chat=lambda _: "840"), 0.3, live=True)
    assert {row["f1"] for row in figures["figures"]} == {1.0}


def test_a_mistake_in_a_file_is_found_before_anything_is_measured(tmp_path: Path) -> None:
    sample = locomo_sample()
    sample["qa"][1]["category"] = "hard"
    with pytest.raises(BadDataset, match=r"talks\.json .*\[0\]\.qa\[1\]\.category"):
        measured("--locomo", written(tmp_path / "talks.json", [sample]))
    with pytest.raises(BadTextFile):
        measured("--locomo", tmp_path / "missing.json")
