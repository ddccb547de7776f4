"""The rows of an evaluation and what they add up to.

A play gives what every form of memory holds; a result is one form of one play, probed and, where asked for, judged and
answered from.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, TypeVar

from evaluation import probe
from evaluation.form import Form, FormContext
from evaluation.judge.criterion import CRITERIA, Criterion
from evaluation.judge.judge import Rating
from evaluation.play import CallCost
from evaluation.probe import Probe
from text.language import Language

K = TypeVar("K", bound=Hashable)
Key = tuple[str, float, Form, int]
"""The place of a result: scenario, rate, form and run, counted from 1."""

GOOD, BAD = 0.7, 0.5
"""Judge and probes disagree when one of them gives at least the first share of its best, and the other one less than
the second."""
MOST_UNSCORED = 0.1
"""The largest share of results without a figure with which an evaluation still counts."""


@dataclass(frozen=True, slots=True)
class PlayedScenario:
    """What one play of a scenario at one rate gave.

    ``contexts``: by form; a form that could not be assembled stands in ``failures`` with the code of its error.
    ``memory``, ``entities``: the session's long-term memory as the judge gets it. ``waiting``: turns that the memory
    has not taken in yet. ``costs``: of the summaries and of the folds.
    ``usd``: their price, None when unknown. ``messages``: the prompts for live answers, by form, as LangChain writes
    them. ``seconds``: that the play took.
    """

    scenario: str
    rate: float
    contexts: dict[Form, FormContext]
    failures: dict[Form, str] = field(default_factory=dict)
    memory: str = ""
    entities: str = ""
    waiting: int = 0
    costs: dict[str, CallCost] = field(default_factory=dict)
    usd: float | None = 0.0
    messages: dict[Form, list[dict[str, Any]]] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class LiveAnswer:
    """The chat model's answer to the query. ``right``: the share of the expected values that it holds, None where
    nothing is expected; ``why``: the code of the error where there is no answer. ``usd``: None when the price is
    unknown."""

    text: str = ""
    right: float | None = None
    why: str = ""
    prompt_tokens: int = 0
    answer_tokens: int = 0
    seconds: float = 0.0
    usd: float | None = None


@dataclass(frozen=True, slots=True)
class EvaluationResult:
    """One form of memory in one run: what it holds, what the judge says of it, what the model answers from it.

    ``tokens``: of what the form gives the model. ``rating``, ``answer``: None where nobody was asked. ``made``: the
    calls that wrote the form's summaries and folds, shared by all runs; ``made_usd``: their price, None when unknown.
    ``failed``: the code of the error where there is nothing to look at.
    """

    scenario: str
    language: Language
    kind: str
    rate: float
    form: Form
    run: int = 1
    tokens: int = 0
    probes: tuple[Probe, ...] = ()
    rating: Rating | None = None
    answer: LiveAnswer | None = None
    waiting: int = 0
    made: CallCost = field(default_factory=CallCost)
    made_usd: float | None = 0.0
    failed: str = ""

    @property
    def key(self) -> Key:
        return self.scenario, self.rate, self.form, self.run

    @property
    def recall(self) -> float | None:
        """The share of the expected values that the form holds rightly."""
        return probe.compute_recall(self.probes)

    @property
    def stale(self) -> float | None:
        """The share of the replaced values that stand as the current ones."""
        return probe.stale_share(self.probes)

    @property
    def leaks(self) -> int:
        """How many values are there that must not be there."""
        return probe.count_leaks(self.probes)

    @property
    def overall(self) -> float | None:
        """The judge's overall score; None without one."""
        return self.rating.overall if self.rating else None

    @property
    def lacks_figure(self) -> bool:
        """Whether a figure that was asked for is missing."""
        judged = self.rating is not None and self.rating.status == "unscored"
        return bool(self.failed) or judged or (self.answer is not None and bool(self.answer.why))

    @property
    def seconds(self) -> float:
        """Seconds of all calls behind this result."""
        return self.made.seconds + sum(part.seconds for part in (self.rating, self.answer) if part)

    @property
    def usd(self) -> float | None:
        """US dollars of all calls behind this result; None when one of their prices is unknown."""
        return sum_prices([self.made_usd, self.asked_usd])

    @property
    def asked_usd(self) -> float | None:
        """US dollars of the judgement and of the answer."""
        judged = self.rating.usd if self.rating and self.rating.prompt_tokens else 0.0
        return sum_prices([judged, self.answer.usd if self.answer and self.answer.prompt_tokens else 0.0])

    @property
    def disagrees(self) -> bool:
        """Whether judge and probes say the opposite: a good score for a form that lacks the values, or the reverse."""
        if self.overall is None or self.recall is None:
            return False
        judged = self.overall / 100
        return (judged >= GOOD and self.recall < BAD) or (self.recall >= GOOD and judged < BAD)


@dataclass(frozen=True, slots=True)
class ResultSummary:
    """The figures of several results as one; a mean leaves out what has no figure, and is None where nothing has one.

    ``recall``, ``stale``, ``right``: mean shares. ``leaks``: the most of one result. ``scores``: mean score by
    criterion; ``overall``: mean, 0 to 100. ``compute_run_spread``: highest less lowest mean of a run; None with fewer
    than two runs that have a score. ``lacks_figure``: how many results lack a figure. ``tokens``, ``seconds``, ``usd``:
    means of one result. ``waiting``: the most turns that a memory had not taken in.
    """

    results: int
    recall: float | None
    stale: float | None
    leaks: int
    scores: dict[Criterion, float]
    overall: float | None
    spread: float | None
    unscored: int
    right: float | None
    tokens: float | None
    seconds: float | None
    usd: float | None
    waiting: int


def summarise_results(results: Sequence[EvaluationResult]) -> ResultSummary:
    """Returns the figures of these results as one."""
    whole = [result for result in results if not result.failed]
    rated = [result.rating.scores for result in whole if result.rating and result.rating.scores]
    prices = [result.usd for result in whole]
    return ResultSummary(
        results=len(results),
        recall=average_known_values(result.recall for result in whole),
        stale=average_known_values(result.stale for result in whole),
        leaks=max((result.leaks for result in whole), default=0),
        scores={name: fmean(scores[name] for scores in rated) for name in CRITERIA if rated},
        overall=average_known_values(result.overall for result in whole),
        spread=compute_run_spread(whole),
        unscored=sum(result.lacks_figure for result in results),
        right=average_known_values(result.answer.right for result in whole if result.answer),
        tokens=average_known_values(result.tokens for result in whole),
        seconds=average_known_values(result.seconds for result in whole),
        usd=None if None in prices else average_known_values(prices),
        waiting=max((result.waiting for result in whole), default=0),
    )


def compute_run_spread(results: Sequence[EvaluationResult]) -> float | None:
    """Returns the highest less the lowest mean overall score of a run; None with fewer than two runs that have one."""
    means = [
        average_known_values(result.overall for result in run)
        for run in group_results(results, lambda result: result.run).values()
    ]
    scored = [mean for mean in means if mean is not None]
    return max(scored) - min(scored) if len(scored) > 1 else None


def by_place(results: Iterable[EvaluationResult]) -> dict[tuple[str, float, Form], ResultSummary]:
    """Returns the figures of every scenario, rate and form over its runs."""
    groups = group_results(results, lambda result: (result.scenario, result.rate, result.form))
    return {place: summarise_results(group) for place, group in groups.items()}


def by_form(results: Iterable[EvaluationResult]) -> dict[tuple[float, Form], ResultSummary]:
    """Returns the figures of every rate and form over all scenarios and runs."""
    groups = group_results(results, lambda result: (result.rate, result.form))
    return {place: summarise_results(group) for place, group in groups.items()}


def group_results(
    results: Iterable[EvaluationResult], by: Callable[[EvaluationResult], K]
) -> dict[K, list[EvaluationResult]]:
    """Returns the results by a key, in the order in which the keys come first."""
    groups: dict[K, list[EvaluationResult]] = {}
    for result in results:
        groups.setdefault(by(result), []).append(result)
    return groups


def unscored_share(results: Sequence[EvaluationResult]) -> float:
    """Returns the share of the results that lack a figure; 0 where there is none."""
    return sum(result.lacks_figure for result in results) / len(results) if results else 0.0


def sum_evaluation_cost(
    plays: Iterable[PlayedScenario], results: Iterable[EvaluationResult]
) -> tuple[float, float | None]:
    """Returns seconds and US dollars of a whole evaluation; None dollars when a price is unknown.

    Every play counts once, however many forms and runs were taken from it.
    """
    plays, results = list(plays), list(results)
    asked = [part for result in results for part in (result.rating, result.answer) if part]
    seconds = sum(play.seconds for play in plays) + sum(part.seconds for part in asked)
    return seconds, sum_prices([*(play.usd for play in plays), *(result.asked_usd for result in results)])


def sum_prices(prices: Iterable[float | None]) -> float | None:
    """Returns the sum of prices; None when one of them is unknown."""
    total = 0.0
    for price in prices:
        if price is None:
            return None
        total += price
    return total


def average_known_values(figures: Iterable[float | None]) -> float | None:
    """Returns the mean of the figures that are known; None where none is."""
    known = [figure for figure in figures if figure is not None]
    return fmean(known) if known else None
