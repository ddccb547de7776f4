"""``python cli.py eval``: plays scenarios and says how good the memory is, as a table, as JSON and as a report."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

import private
from door.terminal.interrupt import catch_interrupts
from errors import OutOfRange, UnknownChoice
from evaluation.form import Form
from evaluation.judge import calibration
from evaluation.judge.calibration import Standing
from evaluation.record import REPORT, FileRecord, create_evaluation_record, find_unfinished_record
from evaluation.report.report import EvaluationReport
from evaluation.report.table import build_evaluation_table, find_worst_standing
from evaluation.result import MOST_UNSCORED, by_form, by_place, sum_evaluation_cost, summarise_results, unscored_share
from evaluation.run import (
    DEFAULT_FORMS,
    EvaluationOutcome,
    EvaluationPlan,
    EvaluationStep,
    build_evaluation_plan,
    check_evaluation_choices,
    is_judge_trusted,
    run_evaluation,
)
from evaluation.scenario import Scenario, find_scenarios
from model.call.stream import Stopped
from model.choice import default, kept, resolve
from model.embedded.catalogue import CATALOGUE
from model.file_lock import translate_disk_errors
from model.modelset import ModelSet
from server.phrase import Language, render_phrase
from settings import Settings
from store.store import HIGHEST_RATE, LOWEST_RATE
from text.clean import escape_surrogates

INTERRUPTED = 130
"""Exit code after Ctrl-C, as in shells."""
HIGHEST_SCORE = 100.0

Judging = Literal["auto", "yes", "no"]


@dataclass(frozen=True, slots=True)
class EvaluationOptions:
    """The options of the command.

    ``scenarios``: names, kinds or paths; none for all. ``model``: the utility model; None for that of the settings.
    ``rates``, ``forms``: as typed, separated by commas. ``fail_under``: 0 to 100.
    """

    scenarios: Sequence[str] = ()
    model: str | None = None
    rates: str = "0.3"
    forms: str = ",".join(DEFAULT_FORMS)
    runs: int = 1
    judging: Judging = "auto"
    live: bool = False
    fail_under: float | None = None
    resume: bool = False
    as_json: bool = False


@dataclass(frozen=True, slots=True)
class Measure:
    """The figure that ``--fail-under`` is held against, 0 to 100: of the form *all*, or of the last one that was run.

    ``by``: the judge's mean overall score or, without a judge, the share of the planted values. ``value``: None where
    nothing has a figure.
    """

    by: Literal["judge", "probes"]
    form: Form
    value: float | None


class Evaluating:
    """One call of the command. ``out`` gets the table or the JSON, ``err`` the progress and the notes."""

    def __init__(self, settings: Settings, out: Console, err: Console, language: Language) -> None:
        self._settings, self._out, self._err, self._language = settings, out, err, language
        self._word = partial(render_phrase, language)
        self._stop = threading.Event()

    def run(self, wanted: EvaluationOptions) -> int:
        """Runs the evaluation; returns the exit code: 0, 1 below ``fail_under`` or with more than a tenth unscored,
        ``INTERRUPTED`` after Ctrl-C.

        Raises ``CallerError`` for bad options before anything runs, and the errors of resolving the models.
        """
        scenarios, rates, forms = parse_evaluation_options(wanted)
        with self._err.status(self._word("eval.preparing"), spinner_style="dim"):
            models = resolve_evaluation_models(self._settings, wanted.model)
        judged = wanted.judging == "yes" or (wanted.judging == "auto" and is_judge_trusted(models))
        plan = build_evaluation_plan(
            models, scenarios, rates=rates, forms=forms, runs=wanted.runs, judged=judged, live=wanted.live
        )
        if plan.runs < wanted.runs:
            self._note("eval.one_run")
        if wanted.judging == "auto" and not judged:
            self._note("eval.not_asked")
        with catch_interrupts(self._stop):
            try:
                standing = self._standing(plan, models, calibrating=wanted.judging == "yes")
            except Stopped:
                self._note("eval.stopped", there=0)
                return INTERRUPTED
            return self._evaluate_plan(plan, models, standing, wanted)

    def _evaluate_plan(
        self, plan: EvaluationPlan, models: ModelSet, standing: Mapping[Language, Standing], wanted: EvaluationOptions
    ) -> int:
        record = self._record(plan, wanted.resume)
        try:
            with self._progress() as heard:
                outcome = run_evaluation(plan, models, record, stop=self._stop, heard=heard)
        finally:
            record.close()
        report = record.folder / REPORT
        when = datetime.now().astimezone().strftime("%Y-%m-%d %H:%M")
        with translate_disk_errors(report):
            html = EvaluationReport(outcome, standing, self._word, self._language, when).html()
            private.write_private_file(report, html.encode("utf-8", "replace").decode())
        code = self._verdict(outcome, wanted.fail_under)
        if wanted.as_json:
            self._print_json(outcome, standing, record.folder, code)
        else:
            self._print_table(outcome, standing, wanted.fail_under)
        self._note("eval.report", path=report)
        if outcome.stopped:
            self._note("eval.stopped", there=len(outcome.results))
        return code

    def _record(self, plan: EvaluationPlan, resume: bool) -> FileRecord:
        folder, plain = self._settings.data_dir, plan.plain()
        record = find_unfinished_record(folder, plain, plan.keys) if resume else None
        if record is not None:
            self._note("eval.resumed", there=sum(map(record.has_result, plan.keys)), folder=record.folder)
            return record
        if resume:
            self._note("eval.nothing_to_resume")
        record = create_evaluation_record(folder, plain)
        self._note("eval.begun", scenarios=len(plan.scenarios), results=len(plan.keys), folder=record.folder)
        return record

    def _standing(self, plan: EvaluationPlan, models: ModelSet, *, calibrating: bool) -> dict[Language, Standing]:
        """Returns how the judge did in its calibration, by language; calibrates it first where that is wanted and was
        not done. Raises ``Stopped``."""
        if not plan.judged:
            return {}
        return {
            language: self._ensure_calibration(models, language, calibrating) for language in list_plan_languages(plan)
        }

    def _ensure_calibration(self, models: ModelSet, language: Language, calibrating: bool) -> Standing:
        folder, words = self._settings.data_dir, self._word
        known = calibration.load_calibration(folder, models, language)
        if known is None and calibrating:
            text = words("eval.calibrating", which=words(f"eval.language.{language}"))
            with self._err.status(text, spinner_style="dim") as status:
                known = calibration.calibrate_judge(
                    models, language, self._stop, lambda done, rows: status.update(f"{text} {done}/{rows}")
                )
            calibration.save_calibration(folder, known)
        return calibration.classify_judge_standing(known)

    def _verdict(self, outcome: EvaluationOutcome, fail_under: float | None) -> int:
        if outcome.stopped:
            return INTERRUPTED
        value = choose_outcome_measure(outcome).value
        below = fail_under is not None and (value is None or value < fail_under)
        return 1 if below or unscored_share(outcome.results) > MOST_UNSCORED else 0

    def _print_table(
        self, outcome: EvaluationOutcome, standing: Mapping[Language, Standing], fail_under: float | None
    ) -> None:
        self._out.print(build_evaluation_table(outcome, standing, self._word))
        if outcome.plan.judged and find_worst_standing(standing) != "passed":
            self._say("eval.marks")
        figure = choose_outcome_measure(outcome)
        form = self._word(f"eval.form.{figure.form}")
        if figure.value is None:
            self._say("eval.measure.none", form=form)
        elif figure.by == "probes":
            self._say("eval.measure.probes", form=form, value=f"{figure.value:.1f}")
        else:
            mark = self._word(f"eval.mark.{find_worst_standing(standing)}")
            self._say("eval.measure.judge", form=form, value=f"{figure.value:.1f}", mark=mark)
        if fail_under is not None and (figure.value is None or figure.value < fail_under):
            self._say("eval.below", limit=f"{fail_under:g}")
        if unscored_share(outcome.results) > MOST_UNSCORED:
            unscored = sum(result.lacks_figure for result in outcome.results)
            self._say("eval.too_many_unscored", results=len(outcome.results), unscored=unscored)

    def _print_json(
        self, outcome: EvaluationOutcome, standing: Mapping[Language, Standing], folder: Path, code: int
    ) -> None:
        value = build_outcome_data(outcome, standing) | {
            "folder": str(folder),
            "report": str(folder / REPORT),
            "exit_code": code,
        }
        text = escape_surrogates(json.dumps(value, ensure_ascii=False))
        self._out.print(text, soft_wrap=True, markup=False, highlight=False)

    @contextmanager
    def _progress(self) -> Iterator[Callable[[EvaluationStep], None]]:
        """Shows the steps and the time that is left."""
        columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
        with Progress(*columns, TimeRemainingColumn(), console=self._err, transient=True) as progress:
            task = progress.add_task("", total=None)

            def heard(step: EvaluationStep) -> None:
                progress.update(task, description=step.scenario, completed=step.done, total=step.steps)

            yield heard

    def _say(self, key: str, **values: object) -> None:
        self._out.print(self._word(key, **values), markup=False, highlight=False, soft_wrap=True)

    def _note(self, key: str, **values: object) -> None:
        self._err.print(self._word(key, **values), markup=False, highlight=False, soft_wrap=True)


def parse_evaluation_options(wanted: EvaluationOptions) -> tuple[list[Scenario], list[float], list[str]]:
    """Returns scenarios, rates and forms. Raises ``BadScenario``, ``BadTextFile``, ``OutOfRange`` and
    ``UnknownChoice``."""
    scenarios = find_scenarios(wanted.scenarios)
    rates = parse_rates(wanted.rates)
    forms = _split_at_commas(wanted.forms)
    if wanted.fail_under is not None and not 0 <= wanted.fail_under <= HIGHEST_SCORE:
        raise OutOfRange(what="lowest score", value=wanted.fail_under, low=0, high=int(HIGHEST_SCORE))
    check_evaluation_choices(scenarios, rates, forms, wanted.runs)
    return scenarios, rates, forms


def resolve_evaluation_models(settings: Settings, model: str | None) -> ModelSet:
    """Returns the models in use, with ``model`` for summaries, memory and judgements.

    Where the embedded model answers, ``model`` is one of its catalogue. Raises ``UnknownChoice`` where the name leads
    to another model, and what ``resolve.resolve_models`` raises.
    """
    in_use = kept.apply_stored_choice(settings)
    if model in CATALOGUE:
        in_use = default.build_embedded_settings(in_use, model)
    elif model is not None:
        in_use = in_use.model_copy(update={"utility_model": model})
    models = resolve.resolve_models(in_use)
    if model is not None and models.side_name != model:
        raise UnknownChoice(what="model", value=model, known=", ".join([models.side_name, *CATALOGUE]))
    return models


def list_plan_languages(plan: EvaluationPlan) -> list[Language]:
    """Returns the languages of the plan's scenarios."""
    return list(dict.fromkeys(scenario.language for scenario in plan.scenarios))


def choose_outcome_measure(outcome: EvaluationOutcome) -> Measure:
    """Returns the figure of the form *all*, or of the last form of the plan where that one was not run."""
    plan = outcome.plan
    form: Form = "all" if "all" in plan.forms else plan.forms[-1]
    figures = summarise_results([result for result in outcome.results if result.form == form])
    if plan.judged:
        return Measure("judge", form, figures.overall)
    return Measure("probes", form, None if figures.recall is None else HIGHEST_SCORE * figures.recall)


def build_outcome_data(outcome: EvaluationOutcome, standing: Mapping[Language, Standing]) -> dict[str, Any]:
    """Returns an evaluation as JSON data: plan, totals, figures by scenario and by form, disagreements, rows."""
    plan, (seconds, usd) = outcome.plan, sum_evaluation_cost(outcome.plays, outcome.results)
    judged = dict(standing) if plan.judged else {}
    return {
        "plan": {
            "scenarios": [scenario.name for scenario in plan.scenarios],
            "rates": list(plan.rates),
            "forms": list(plan.forms),
            "runs": plan.runs,
            "judged": plan.judged,
            "live": plan.live,
            "model": plan.model,
            "utility_model": plan.side,
        },
        "calibration": judged,
        "stopped": outcome.stopped,
        "measure": asdict(choose_outcome_measure(outcome)),
        "seconds": seconds,
        "usd": usd,
        "unscored_share": unscored_share(outcome.results),
        "forms": [
            {"rate": rate, "form": form, **asdict(figures)}
            for (rate, form), figures in by_form(outcome.results).items()
        ],
        "scenarios": [
            {"scenario": scenario, "rate": rate, "form": form, **asdict(figures)}
            for (scenario, rate, form), figures in by_place(outcome.results).items()
        ],
        "disagreements": [
            {"scenario": row.scenario, "rate": row.rate, "form": row.form, "run": row.run}
            for row in outcome.results
            if row.disagrees
        ],
        "results": [
            {**asdict(row), "recall": row.recall, "stale": row.stale, "leaks": row.leaks, "unscored": row.lacks_figure}
            for row in outcome.results
        ],
    }


def _split_at_commas(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def parse_rates(text: str) -> list[float]:
    """Returns the rates of a text, each once. Raises ``OutOfRange``, also for a text without one."""
    rates = list[float]()
    for part in _split_at_commas(text) or [""]:
        try:
            rate = float(part)
        except ValueError:
            rate = math.nan
        if not LOWEST_RATE <= rate <= HIGHEST_RATE:
            raise OutOfRange(what="compression rate", value=part, low=LOWEST_RATE, high=HIGHEST_RATE)
        rates.append(rate)
    return list(dict.fromkeys(rates))
