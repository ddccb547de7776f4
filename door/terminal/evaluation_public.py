"""``python cli.py eval --locomo FILE …``: public data sets instead of scenarios."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from door.terminal.evaluation import INTERRUPTED, Judging, parse_rates, resolve_evaluation_models
from door.terminal.interrupt import catch_interrupts
from errors import EvaluationFailed
from evaluation.public import record
from evaluation.public.dataset import source
from evaluation.public.dataset.dataset import Conversation, Dataset
from evaluation.public.figure import TOGETHER, Figures, build_dataset_report, compute_dataset_figures
from evaluation.public.measure import Row, list_row_keys, measure_conversation
from evaluation.public.record import RowRecord
from evaluation.result import MOST_UNSCORED
from evaluation.run import is_judge_trusted
from model.call.stream import Stopped
from model.modelset import ModelSet
from server.phrase import Language, render_phrase
from settings import Settings
from text.clean import escape_surrogates

BAD_INPUT = 2
"""Exit code for options that do not go together."""
NONE = "–"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PublicWanted:
    """The options of the command for public data. ``questions``: at most so many of each data set; ``rates``: as typed,
    separated by commas; ``fail_under``: nothing here is held against it, so it is refused."""

    locomo: Path | None = None
    longmemeval: Path | None = None
    bfcl: Sequence[Path] = ()
    questions: int | None = None
    model: str | None = None
    rates: str = "0.3"
    judging: Judging = "auto"
    live: bool = False
    fail_under: float | None = None
    resume: bool = False
    as_json: bool = False

    def __bool__(self) -> bool:
        """Whether a data set is named."""
        return bool(self.locomo or self.longmemeval or self.bfcl)


@dataclass(frozen=True, slots=True)
class _Measured:
    """The rows of one data set at one rate."""

    dataset: Dataset
    rate: float
    rows: tuple[Row, ...]

    def plain(self) -> dict[str, Any]:
        return {"rate": self.rate, **build_dataset_report(self.dataset, self.rows)}


class EvaluatingPublic:
    """One call of the command. ``out`` gets the tables or the JSON, ``err`` the progress and the notes."""

    def __init__(self, settings: Settings, out: Console, err: Console, language: Language) -> None:
        self._settings, self._out, self._err = settings, out, err
        self._word = partial(render_phrase, language)
        self._stop = threading.Event()
        self._failed = 0

    def run(self, wanted: PublicWanted) -> int:
        """Measures the data sets; returns the exit code: 0, 1 with more than a tenth of the live answers missing or
        with a conversation that could not be played, ``INTERRUPTED`` after Ctrl-C.

        Raises ``CallerError`` for bad options and files before anything runs, and the errors of resolving the models.
        """
        if wanted.fail_under is not None:
            self._note("eval.public.no_limit")
            return BAD_INPUT
        rates = parse_rates(wanted.rates)
        datasets = source.load_datasets(wanted.locomo, wanted.longmemeval, wanted.bfcl, wanted.questions)
        with self._err.status(self._word("eval.preparing"), spinner_style="dim"):
            models = resolve_evaluation_models(self._settings, wanted.model)
        began = time.monotonic()
        with catch_interrupts(self._stop):
            groups = [group for rate in rates for group in self._measure_datasets(wanted, datasets, models, rate)]
        return self._print_result(groups, models, wanted, time.monotonic() - began)

    def _measure_datasets(
        self, wanted: PublicWanted, datasets: Sequence[Dataset], models: ModelSet, rate: float
    ) -> Iterator[_Measured]:
        """Measures all data sets at one rate; yields nothing more once the command is stopped."""
        judged = wanted.live and (wanted.judging == "yes" or (wanted.judging == "auto" and is_judge_trusted(models)))
        if self._stop.is_set():
            return
        kept = self._record(wanted, datasets, models, rate, judged)
        try:
            for dataset in datasets:
                if self._stop.is_set():
                    break
                self._measure(dataset, models, rate, kept, live=wanted.live, judged=judged)
                rows = [row for row in kept.rows.values() if row.dataset == dataset.name]
                yield _Measured(dataset, rate, tuple(rows))
        finally:
            kept.close()

    def _record(
        self, wanted: PublicWanted, datasets: Sequence[Dataset], models: ModelSet, rate: float, judged: bool
    ) -> RowRecord:
        names = (models.name, models.side_name, models.profile.name, models.side.name)
        mark = record.hash_measurement(datasets, rate, wanted.live, judged, names)
        found = record.find_newest_record(self._settings.data_dir, mark) if wanted.resume else None
        if found is not None:
            self._note("eval.resumed", there=len(found.rows), folder=found.path)
            return found
        if wanted.resume:
            self._note("eval.nothing_to_resume")
        begun = record.create_row_record(self._settings.data_dir, mark)
        questions = sum(len(talk.questions) for dataset in datasets for talk in dataset.conversations)
        self._note("eval.public.begun", questions=questions, file=begun.path)
        return begun

    def _measure(
        self, dataset: Dataset, models: ModelSet, rate: float, kept: RowRecord, *, live: bool, judged: bool
    ) -> None:
        """Measures what the record lacks, until the command is stopped."""
        missing = [
            talk for talk in dataset.conversations if not all(key in kept.rows for key in list_row_keys(dataset, talk))
        ]
        with self._progress(dataset.name, sum(map(partial(_count_steps, dataset), missing))) as step:
            for talk in missing:
                rows = measure_conversation(
                    dataset,
                    talk,
                    models,
                    rate,
                    known=kept.rows,
                    live=live,
                    judged=judged,
                    stop=self._stop,
                    heard=step,
                )
                try:
                    for row in rows:
                        kept.keep(row)
                        step()
                except Stopped:
                    return
                except EvaluationFailed as error:
                    self._failed += 1
                    _log.warning("conversation %s was not played: %s", talk.name, error.code)
                    self._note("eval.public.failed", name=talk.name, turn=error.values["turn"])

    def _print_result(self, groups: Sequence[_Measured], models: ModelSet, wanted: PublicWanted, seconds: float) -> int:
        """Prints the result and returns the exit code."""
        stopped = self._stop.is_set()
        rows = [row for group in groups for row in group.rows]
        answers = [row.answer for row in rows if row.answer]
        unanswered = sum(bool(answer.why) for answer in answers)
        missing = bool(answers) and unanswered > MOST_UNSCORED * len(answers)
        code = INTERRUPTED if stopped else int(missing or bool(self._failed))
        if wanted.as_json:
            value = {
                "model": models.name,
                "utility_model": models.side_name,
                "live": wanted.live,
                "stopped": stopped,
                "failed": self._failed,
                "seconds": round(seconds, 1),
                "datasets": [group.plain() for group in groups],
                "exit_code": code,
            }
            text = escape_surrogates(json.dumps(value, ensure_ascii=False))
            self._out.print(text, soft_wrap=True, markup=False, highlight=False)
        else:
            for group in groups:
                self._show(group, wanted.live)
        if stopped:
            self._note("eval.stopped", there=len(rows))
        return code

    def _show(self, group: _Measured, live: bool) -> None:
        """Prints the figures of a data set and what is to be known about them."""
        dataset = group.dataset
        columns = ["questions", "verbatim", "facts", "without_facts", "tokens", "p50", "p95"]
        columns += ["f1", "judged", "unscored"] if live else []
        table = Table(title=f"{dataset.name} · {group.rate:g}", title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
        table.add_column(self._word("eval.public.category"))
        table.add_column(self._word("eval.column.form"))
        for name in columns:
            table.add_column(self._word(f"eval.public.{name}"), justify="right")
        before = ""
        for item in compute_dataset_figures(group.rows):
            if before and before != item.category:
                table.add_section()
            category = self._word("eval.public.together") if item.category == TOGETHER else item.category
            cells = [category if before != item.category else "", self._word(f"eval.form.{item.form}")]
            table.add_row(*map(Text, [*cells, *(_render_figure_cell(item, name) for name in columns)]))
            before = item.category
        self._out.print(table)
        self._say("eval.public.about")
        plain = group.plain()
        if dataset.gold:
            self._say("eval.public.wrong_gold", **plain["wrong_gold"] | {"ceiling": f"{dataset.gold.ceiling:.1%}"})
        for name in ("without_gold", "unknown_gold", "shortened"):
            if plain[name]:
                self._say(f"eval.public.{name}", count=plain[name])

    @contextmanager
    def _progress(self, name: str, steps: int) -> Iterator[Callable[[], None]]:
        """Shows how many turns and rows are done, and the time that is left."""
        columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
        with Progress(*columns, TimeRemainingColumn(), console=self._err, transient=True) as progress:
            task = progress.add_task(name, total=steps)
            yield lambda: progress.advance(task)

    def _say(self, key: str, **values: object) -> None:
        self._out.print(self._word(key, **values), markup=False, highlight=False, soft_wrap=True)

    def _note(self, key: str, **values: object) -> None:
        self._err.print(self._word(key, **values), markup=False, highlight=False, soft_wrap=True)


def _count_steps(dataset: Dataset, talk: Conversation) -> int:
    return len(talk.turns) + len(list_row_keys(dataset, talk))


def _render_figure_cell(item: Figures, name: str) -> str:
    """Returns one figure as text: a share in per cent, milliseconds, or a number; «–» where there is none."""
    value = getattr(item, name)
    if value is None:
        return NONE
    if name in ("verbatim", "facts"):
        return f"{value:.1%}"
    if name in ("p50", "p95"):
        return f"{value * 1000:.0f}"
    if name == "f1":
        return f"{value:.3f}"
    if name == "judged":
        return f"{value:.1f}"
    return f"{value:,.0f}"
