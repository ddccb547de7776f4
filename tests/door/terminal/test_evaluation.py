"""``cli.py eval`` as a user calls it."""

from __future__ import annotations

import inspect
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import cli
from door.terminal.evaluation import EvaluationOptions, resolve_evaluation_models
from errors import GieokError, UnknownChoice
from evaluation.form import FORMS
from evaluation.record import FOLDER, RESULTS
from model import scripted
from model.call import abort
from model.choice import resolve
from model.modelset import ModelSet
from model.profile import SMALL
from settings import load_current_settings
from tests.evaluation.rows import reply, written
from tests.table import table


def called(*arguments: str) -> Result:
    return CliRunner().invoke(cli.application, ["eval", "--lang", "en", *arguments])


def served(monkeypatch: pytest.MonkeyPatch, models: ModelSet) -> ModelSet:
    """Makes these the models of the settings."""
    monkeypatch.setattr(resolve, "resolve_models", lambda *_, **__: models)
    return models


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Any:
    return served(monkeypatch, scripted.build_scripted_models(profile=SMALL))


@pytest.fixture
def scenario(tmp_path: Path) -> str:
    return str(written(tmp_path))


def folders() -> list[Path]:
    return sorted(path for path in (load_current_settings().data_dir / FOLDER).glob("*") if path.is_dir())


def test_a_small_model_gets_a_table_of_probes_and_a_report(small: Any, scenario: str) -> None:
    result = called("--scenario", scenario, "--fail-under", "100")
    assert result.exit_code == 0, result.output
    assert "too small for a judge" in result.output
    assert "Facts held by «all together»: 100.0 %" in result.output
    (folder,) = folders()
    assert {path.name for path in folder.iterdir()} == {"plan.json", "results.jsonl", "report.html"}
    assert (folder / "report.html").stat().st_mode & 0o777 == 0o600
    assert f"Report: {folder / 'report.html'}" in result.output
    assert small.chat.calls == small.utility.calls == []


def test_json_is_one_object_and_below_the_wanted_score_ends_with_1(small: Any, scenario: str) -> None:
    result = called("--scenario", scenario, "--memory", "none,chunks", "--fail-under", "99", "--json")
    assert result.exit_code == 1
    value = json.loads(result.stdout)
    assert value["measure"] == {"by": "probes", "form": "chunks", "value": pytest.approx(50.0)}
    assert [row["form"] for row in value["results"]] == ["none", "chunks"]
    assert [(row["form"], row["recall"]) for row in value["forms"]] == [("none", 0.0), ("chunks", 0.5)]
    assert value["plan"]["judged"] is False
    assert (value["stopped"], value["unscored_share"], value["exit_code"]) == (False, 0.0, 1)
    assert Path(value["report"]).is_file()


def test_more_than_a_tenth_unscored_ends_with_1(small: Any, tmp_path: Path) -> None:
    path = written(tmp_path)
    path.write_text(path.read_text("utf-8").replace('"알겠습니다."', '" "', 1), "utf-8")
    result = called("--scenario", str(path), "--memory", "all")
    assert result.exit_code == 1
    assert "1 of 1 results have no figure" in result.output


@table(
    ("options", "said"),
    [
        (["--scenario", "nowhere"], "There is no scenario"),
        (["--scenario", "gone.yaml"], "gone.yaml"),
        (["--rates", "0.9"], "compression rate 0.9 cannot be used; it lies between 0.1 and 0.5"),
        (["--rates", "much"], "compression rate much cannot be used"),
        (["--memory", "dreams"], "no form of memory 'dreams'; there are none, turns, chunks"),
        (["--runs", "0"], "number of runs 0 cannot be used; it lies between 1 and 100"),
        (["--fail-under", "101"], "lowest score 101.0 cannot be used; it lies between 0 and 100"),
        (["--judge", "maybe"], "auto"),
    ],
)
def test_bad_input_ends_with_2_before_anything_runs(
    options: list[str], said: str, scenario: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolve, "resolve_models", lambda *_, **__: pytest.fail("a model was asked for"))
    result = called(*([] if "--scenario" in options else ["--scenario", scenario]), *options)
    assert result.exit_code == 2, result.output
    assert said in " ".join(result.output.split())
    assert folders() == []


def test_korean_says_what_is_wrong(small: Any, scenario: str) -> None:
    result = CliRunner().invoke(cli.application, ["eval", "--lang", "ko", "--scenario", scenario, "--memory", "꿈"])
    assert result.exit_code == 2
    assert "그런 기억의 형태는 없습니다" in result.output


def test_ctrl_c_keeps_what_is_done_and_resume_goes_on(scenario: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def answering(_: Any) -> str:
        if len(models.chat.calls) == 2:  # type: ignore[attr-defined]
            os.kill(os.getpid(), signal.SIGINT)
            abort.current.get().wait(60)  # type: ignore[union-attr]  # until the stop cuts the call off
        return "5월 10일입니다."

    models = served(monkeypatch, scripted.build_scripted_models(chat=answering, profile=SMALL))
    stopped = called("--scenario", scenario, "--live")
    assert stopped.exit_code == 130, stopped.output
    assert "Stopped. 1 results are kept; the same command with --resume goes on." in stopped.output
    again = called("--scenario", scenario, "--live", "--resume", "--json")
    assert again.exit_code == 0, again.output
    assert "Going on: 1 results are there already" in again.stderr
    assert [row["form"] for row in json.loads(again.stdout)["results"]] == ["none", "chunks", "recursive", "all"]
    (folder,) = folders()
    assert len((folder / RESULTS).read_text("utf-8").splitlines()) == 1 + 4


def test_resume_without_an_unfinished_one_begins_anew(small: Any, scenario: str) -> None:
    result = called("--scenario", scenario, "--memory", "none", "--runs", "3", "--resume")
    assert result.exit_code == 0
    assert "a new one begins" in result.output
    assert "Without a judge and without --live every run is the same" in result.output
    assert len(folders()) == 1


def test_the_model_goes_the_way_of_the_settings(scenario: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def models(settings: Any, *_: Any) -> ModelSet:
        asked.append(settings)
        return scripted.build_scripted_models()

    monkeypatch.setattr(resolve, "resolve_models", models)
    with pytest.raises(UnknownChoice, match="no model 'judge-9'; there are scripted"):
        resolve_evaluation_models(load_current_settings(), "judge-9")
    with pytest.raises(GieokError):
        resolve_evaluation_models(load_current_settings(), "qwen3-4b-instruct-2507-q4_k_m")
    assert (asked[0].utility_model, asked[0].provider) == ("judge-9", "auto")
    assert (asked[1].embedded_model, asked[1].provider) == ("qwen3-4b-instruct-2507-q4_k_m", "embedded")
    assert resolve_evaluation_models(load_current_settings(), None).name == "scripted"


def test_the_command_has_the_defaults_of_its_door() -> None:
    defaults = {name: option.default for name, option in inspect.signature(cli.run_eval_command).parameters.items()}
    door = EvaluationOptions()
    assert (defaults["memory_forms"], defaults["rates"], defaults["runs"]) == (door.forms, door.rates, door.runs)
    assert (defaults["judge"], defaults["fail_under"]) == (door.judging, door.fail_under)


def test_help_names_every_form() -> None:
    said = " ".join(called("--help").output.replace("│", " ").split())
    assert [form for form in FORMS if form not in said] == []


def test_a_judge_is_calibrated_once_and_its_scores_carry_how_it_did(
    scenario: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    models: Any = served(monkeypatch, scripted.build_scripted_models(utility=lambda _: reply(), profile=SMALL))
    first = called("--scenario", scenario, "--judge", "yes", "--runs", "2", "--fail-under", "80")
    assert first.exit_code == 0, first.output
    assert "Mean judge score of «all together»: 87.0 of 100 ✗ by a judge that failed its calibration" in first.output
    assert "Korean: the judge failed its calibration" in (folders()[0] / "report.html").read_text("utf-8")
    calls = len(models.utility.calls)
    second = called("--scenario", scenario, "--judge", "yes", "--memory", "none,all", "--fail-under", "90", "--json")
    assert second.exit_code == 1, second.output
    value = json.loads(second.stdout)
    assert value["calibration"] == {"ko": "failed"}
    assert value["measure"] == {"by": "judge", "form": "all", "value": pytest.approx(87.0)}
    assert len(models.utility.calls) == calls + 1, "the calibration was kept, and an empty memory is not sent"
