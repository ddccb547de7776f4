"""The bench of the memory: figures of every form from one play, judgements only by a judge that passed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench import __main__ as command
from bench.memory_eval import JUDGEMENTS, measure
from evaluation.form import FORMS
from evaluation.scenario import find_scenarios
from model import scripted
from model.profile import SMALL
from tests.evaluation.rows import reply, written


def test_the_bench_measures_code_alone_without_a_model(tmp_path: Path) -> None:
    name, args = command.parse(["memory_eval", "--scenario", str(written(tmp_path))])
    result: dict[str, Any] = command.load(name).run(args)
    assert (result["calibrated"], result["scenarios"], result["failed"]) == ("unknown", 1, 0)
    forms = {row["form"]: row for row in result["forms"]}
    assert list(forms) == list(FORMS)
    assert forms["all"] == {"form": "all", **result["together"]}
    assert (result["together"]["probe_recall"], result["together"]["stale_current"]) == (1.0, 0.0)
    assert (result["gain"], result["against_best_single"]) == (1.0, 0.0)
    assert [(row["scenario"], row["form"]) for row in result["rows"]] == [("cafe_ko", form) for form in FORMS]
    assert all(row["overall"] is None for row in result["rows"])


@pytest.mark.parametrize(("standing", "judgements"), [("passed", JUDGEMENTS), ("failed", 0)])
def test_only_a_judge_that_passed_is_asked_and_three_times(tmp_path: Path, standing: Any, judgements: int) -> None:
    models: Any = scripted.build_scripted_models(utility=lambda _: reply(), profile=SMALL)
    result: dict[str, Any] = measure(models, find_scenarios([str(written(tmp_path))]), {"ko": standing})
    asked = [row["form"] for row in result["rows"] if row["tokens"]]
    assert result["calibrated"] == standing
    assert len(models.utility.calls) == judgements * len(asked)
    assert result["together"]["overall"] == (87.0 if judgements else None)
    assert result["together"]["spread"] == (0.0 if judgements else None)
