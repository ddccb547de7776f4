"""Memory evaluation: which planted values each form of memory holds at the query, and what a calibrated judge says.

Every scenario is played once, with its recorded answers, and every form is taken from that play. Summaries and folds
are written as the profile says: by code alone, or by the model (``--model``). A judge is asked only where it passed its
calibration.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

from bench import models as bench_models
from evaluation import calibration
from evaluation.calibration import Standing
from evaluation.form import FORMS, SINGLE, Form
from evaluation.result import Summary, by_form, by_place
from evaluation.run import evaluate, planned, trusted
from evaluation.scenario import Scenario, find
from evaluation.table import worst
from model.modelset import ModelSet
from settings import current
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
    scenarios = find(args.scenario)
    languages = list(dict.fromkeys(scenario.language for scenario in scenarios))
    asked = bool(with_model) and (trusted(models) or args.judge)
    calibrated = {language: _standing(models, language) for language in languages} if asked else {}
    return {"model": models.name, "profile": models.side.name, **measure(models, scenarios, calibrated)}


def measure(
    models: ModelSet, scenarios: Sequence[Scenario], calibrated: Mapping[Language, Standing]
) -> dict[str, object]:
    """Returns the figures of one play per scenario; with judgements where the judge passed in every language."""
    judged = worst(calibrated) == "passed"
    plan = planned(models, scenarios, rates=[RATE], forms=FORMS, runs=JUDGEMENTS, judged=judged)
    results = evaluate(plan, models).results
    forms = {form: figures for (_, form), figures in by_form(results).items()}
    together = _recall(forms, "all")
    return {
        "scenarios": len(scenarios),
        "calibrated": worst(calibrated),
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
    folder = current().data_dir
    known = calibration.kept(folder, models, language)
    if known is None:
        known = calibration.calibrate(models, language)
        calibration.keep(folder, known)
    return calibration.standing(known)


def _recall(forms: Mapping[Form, Summary], form: Form) -> float:
    return forms[form].recall or 0.0


def _figures(figures: Summary) -> dict[str, object]:
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
