"""Memory evaluation: which planted values each form of memory holds at the query, and what a calibrated judge says.

Every scenario is played once, with its recorded answers, and every form is taken from that play. Summaries and folds
are written as the profile says: by code alone, or by the model (``--model``). A judge is asked only where it passed its
calibration.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

from bench import models as bench_models
from evaluation.form import FORMS, SINGLE, Form
from evaluation.judge import calibration
from evaluation.judge.calibration import Standing
from evaluation.report.table import find_worst_standing
from evaluation.result import ResultSummary, by_form, by_place
from evaluation.run import build_evaluation_plan, is_judge_trusted, run_evaluation
from evaluation.scenario import Scenario, find_scenarios
from model.modelset import ModelSet
from settings import load_current_settings
from text.language import Language

RATE = 0.3
JUDGEMENTS = 3
"""How often a calibrated judge is asked about every form."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of this bench."""
    parser.add_argument("--scenario", action="append", default=[], help="only this scenario: name, kind or file")
    parser.add_argument(
        "--model",
        action="store_true",
        help="measure the profile of the settings' model, or of --url (else: code alone)",
    )
    parser.add_argument("--judge", action="store_true", help="calibrate and ask also a judge that is a small model")
    bench_models.add_arguments(parser)


def run(args: argparse.Namespace) -> dict[str, object]:
    """Returns the figures of every form. ``gain``: the share of planted values that the whole prompt holds, less that
    of no memory; ``against_best_single``: less that of the best form with one kind of memory."""
    with_model = args.model or args.url
    models = bench_models.models(args) if with_model else bench_models.codes()
    scenarios = find_scenarios(args.scenario)
    languages = list(dict.fromkeys(scenario.language for scenario in scenarios))
    asked = bool(with_model) and (is_judge_trusted(models) or args.judge)
    calibrated = {language: _standing(models, language) for language in languages} if asked else {}
    return {"model": models.name, "profile": models.side.name, **measure(models, scenarios, calibrated)}


def measure(
    models: ModelSet, scenarios: Sequence[Scenario], calibrated: Mapping[Language, Standing]
) -> dict[str, object]:
    """Returns the figures of one play per scenario; with judgements where the judge passed in every language."""
    judged = find_worst_standing(calibrated) == "passed"
    plan = build_evaluation_plan(models, scenarios, rates=[RATE], forms=FORMS, runs=JUDGEMENTS, judged=judged)
    results = run_evaluation(plan, models).results
    forms = {form: figures for (_, form), figures in by_form(results).items()}
    together = _recall(forms, "all")
    return {
        "scenarios": len(scenarios),
        "calibrated": find_worst_standing(calibrated),
        "together": _figures(forms["all"]),
        "gain": round(together - _recall(forms, "none"), 4),
        "against_best_single": round(together - max(_recall(forms, form) for form in SINGLE), 4),
        "failed": sum(bool(result.failed) for result in results),
        "forms": [{"form": form, **_figures(figures)} for form, figures in forms.items()],
        "rows": [
            {"scenario": scenario, "form": form, **_figures(figures)}
            for (scenario, _, form), figures in by_place(results).items()
        ],
    }


def _standing(models: ModelSet, language: Language) -> Standing:
    """Returns how the judge did in its calibration, which is done now unless one is kept."""
    folder = load_current_settings().data_dir
    known = calibration.load_calibration(folder, models, language)
    if known is None:
        known = calibration.calibrate_judge(models, language)
        calibration.save_calibration(folder, known)
    return calibration.classify_judge_standing(known)


def _recall(forms: Mapping[Form, ResultSummary], form: Form) -> float:
    return forms[form].recall or 0.0


def _figures(figures: ResultSummary) -> dict[str, object]:
    return {
        "probe_recall": _rounded(figures.recall),
        "stale_current": _rounded(figures.stale),
        "overall": _rounded(figures.overall),
        "spread": _rounded(figures.spread),
        "unscored": figures.unscored,
        "tokens": _rounded(figures.tokens),
        "seconds": _rounded(figures.seconds),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
