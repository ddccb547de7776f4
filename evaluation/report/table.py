"""The figures of an evaluation as a table for a terminal or a pipe."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from evaluation.judge.calibration import Standing
from evaluation.result import ResultSummary, by_form, by_place
from evaluation.run import EvaluationOutcome
from text.language import Language

Word = Callable[..., str]
"""Returns the sentence of a key with its values, in the reader's language."""
MARKS: dict[Standing, str] = {"passed": "", "failed": "✗", "unknown": "?"}
"""What stands behind a judge's score."""
NONE = "–"


def build_evaluation_table(outcome: EvaluationOutcome, standing: Mapping[Language, Standing], word: Word) -> Table:
    """Returns a row for every scenario, rate and form, then one for every rate and form over all scenarios."""
    plan = outcome.plan
    columns = ["recall", "stale", "leaks"]
    columns += ["overall", "spread"] if plan.judged else []
    columns += ["right"] if plan.live else []
    columns += ["unscored", "tokens", "seconds", "usd"]
    shown = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in ("scenario", "rate", "form"):
        shown.add_column(word(f"eval.column.{name}"), overflow="fold")
    for name in columns:
        shown.add_column(word(f"eval.column.{name}"), justify="right")
    languages = {scenario.name: scenario.language for scenario in plan.scenarios}
    before = ""
    for (scenario, rate, form), figures in by_place(outcome.results).items():
        if before and before != scenario:
            shown.add_section()
        mark = MARKS[standing.get(languages[scenario], "unknown")]
        name = scenario if before != scenario else ""
        shown.add_row(
            *_build_text_cells(
                [
                    name,
                    f"{rate:g}",
                    render_form_label(word, form, figures),
                    *_render_figure_cells(figures, columns, mark),
                ]
            )
        )
        before = scenario
    shown.add_section()
    mark = MARKS[find_worst_standing(standing)]
    for (rate, form), figures in by_form(outcome.results).items():
        name = word("eval.all_scenarios")
        shown.add_row(
            *_build_text_cells(
                [name, f"{rate:g}", word(f"eval.form.{form}"), *_render_figure_cells(figures, columns, mark)]
            )
        )
    return shown


def find_worst_standing(standing: Mapping[Language, Standing]) -> Standing:
    """Returns the worst of the standings of the languages; unknown where there is none."""
    order: tuple[Standing, ...] = ("failed", "unknown", "passed")
    return next((one for one in order if one in standing.values()), "unknown")


def render_form_label(word: Word, form: str, figures: ResultSummary) -> str:
    """Returns the name of a form and, behind it, what the memory lacked when it was looked at."""
    notes = [word("eval.waiting", count=figures.waiting)] if figures.waiting and form in ("recursive", "all") else []
    name = word(f"eval.form.{form}")
    return f"{name} ({', '.join(notes)})" if notes else name


def render_figure(name: str, figures: ResultSummary, mark: str = "") -> str:
    """Returns one figure as text: a share in per cent, a score, a count, or a price; «–» where there is none."""
    value = getattr(figures, name)
    if value is None:
        return NONE
    if name in ("recall", "stale", "right"):
        return f"{value:.0%}"
    if name == "usd":
        return render_dollars(value)
    if name in ("leaks", "unscored"):
        return f"{value}"
    if name == "tokens":
        return f"{value:,.0f}"
    return f"{value:.1f}{f' {mark}' if mark and name == 'overall' else ''}"


def render_dollars(usd: float | None) -> str:
    """Returns US dollars as text; «–» where the price is unknown."""
    if usd is None:
        return NONE
    return f"${usd:.4f}" if usd else "$0"


def _render_figure_cells(figures: ResultSummary, columns: list[str], mark: str) -> list[str]:
    return [render_figure(name, figures, mark) for name in columns]


def _build_text_cells(cells: list[str]) -> list[Text]:
    return [Text(cell) for cell in cells]
