from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from bench import evidence
from bench.public.compare import PARTS, SEARCHES, SIZES
from bench.public.dataset import own
from tests.bench.public.files import locomo_sample, longmemeval_instance, written
from tests.bench.public.own_faults import find_faults

PEOPLE = sorted(path.parent for path in own.FOLDER.rglob("conversations.jsonl"))


def test_the_bench_compares_every_form_on_every_data_set_that_is_named(tmp_path: Path) -> None:
    parser = argparse.ArgumentParser()
    evidence.add_arguments(parser)
    talks = written(tmp_path / "talks.json", [locomo_sample()])
    histories = written(tmp_path / "s.json", [longmemeval_instance()])
    named = ["--locomo", str(talks), "--longmemeval", str(histories), "--own", str(tmp_path), "--questions", "2"]
    result = evidence.run(parser.parse_args(named))
    assert list(result["sets"]) == ["locomo", "longmemeval"]
    assert result["sets"]["locomo"]["wrong_gold"]["wrong"] == 99
    assert result["sets"]["longmemeval"]["wrong_gold"] is None
    assert result["sets"]["longmemeval"]["forms"]["history"]["gold"] == 1.0
    forms = result["sets"]["locomo"]["forms"]
    searches = {f"{search} {size}" for search in SEARCHES for size in SIZES}
    assert set(forms) == {"default", "small", "history", *PARTS, *searches}
    assert forms["history"]["gold"] == 1.0
    assert all(forms[form]["tokens"] <= int(form.split()[1]) for form in searches)
    assert result["default_gold"] == forms["default"]["gold"]
    assert result["milliseconds"] > 0


@pytest.mark.parametrize("folder", PEOPLE, ids=lambda folder: folder.name)
def test_our_own_data_sets_hold_together(folder: Path) -> None:
    assert list(find_faults(folder)) == []


def test_every_language_has_people_and_every_kind_has_questions() -> None:
    for dataset in own.load_own_sets():
        kinds = {question.category for talk in dataset.conversations for question in talk.questions}
        assert kinds == set(own.KINDS)
