"""``python cli.py eval`` with public data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import cli
from door.terminal import evaluation_public
from model import scripted
from model.profile import SMALL
from tests.evaluation.public.files import bfcl_history, bfcl_question, locomo_sample, written, written_lines


@pytest.fixture(autouse=True)
def predictable(monkeypatch: pytest.MonkeyPatch) -> None:
    """The small profile with scripted models, for a model of its own would take its time to start."""
    monkeypatch.setattr(
        evaluation_public,
        "resolve_evaluation_models",
        lambda settings, model: scripted.build_scripted_models(profile=SMALL),
    )


def called(*arguments: object) -> Result:
    return CliRunner().invoke(cli.application, ["eval", *map(str, arguments)])


def test_a_table_by_category_and_form_says_that_part_of_the_gold_is_wrong(tmp_path: Path) -> None:
    file = written(tmp_path / "talks.json", [locomo_sample()])
    result = called("--locomo", file, "--lang", "en")
    assert result.exit_code == 0, result.output
    for words in (
        "all but adversarial",
        "multi-hop",
        "adversarial",
        "full history",
        "all with recall_turns",
        "word for word",
        "p95 ms",
    ):
        assert words in result.output
    assert "Of the 1540 answers of this data 99 are known to be wrong" in result.output
    assert "the conversation does not have: 1" in result.output
    assert "F1" not in result.output


def test_json_and_going_on_without_playing_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    history = written_lines(tmp_path / "memory.jsonl", [bfcl_history("student", 0, "My cat is called Pixel.")])
    asked = written_lines(tmp_path / "questions.jsonl", [bfcl_question(source="My cat is called Pixel.")])
    options = ("--bfcl", history, "--bfcl", asked, "--json", "--lang", "en")
    first = called(*options)
    assert first.exit_code == 0, first.output
    (bfcl,) = json.loads(first.stdout)["datasets"]
    assert (bfcl["dataset"], bfcl["rate"], bfcl["questions"], bfcl["turns"]) == ("bfcl", 0.3, 1, [1])
    shares = {item["form"]: item["verbatim"] for item in bfcl["figures"] if item["category"] == "student"}
    assert shares["full"] == shares["turns"] == 1.0

    monkeypatch.setattr("evaluation.public.measure.play_turns", None)
    again = called(*options, "--resume")
    assert again.exit_code == 0, again.output
    assert json.loads(again.stdout)["datasets"] == [bfcl]


def test_bad_input_ends_with_2_and_says_where(tmp_path: Path) -> None:
    sample = locomo_sample()
    sample["qa"][1]["category"] = "hard"
    file = written(tmp_path / "talks.json", [sample])
    result = called("--locomo", file, "--lang", "ko")
    assert result.exit_code == 2
    assert "talks.json의 [0].qa[1].category" in result.output
    assert called("--locomo", file, "--fail-under", "50").exit_code == 2
    assert called("--locomo", written(tmp_path / "good.json", [locomo_sample()]), "--rates", "0.9").exit_code == 2
    assert called("--locomo", tmp_path / "missing.json").exit_code == 2
