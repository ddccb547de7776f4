"""Runs an evaluation: plays every scenario once per rate, takes every form of memory from that play, probes it and,
where asked for, has it judged and answers from it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import messages_from_dict, messages_to_dict

from errors import BadScenario, GieokError, OutOfRange, UnknownChoice, ensure_gieok_error
from evaluation.form import FORMS, Form, FormContext
from evaluation.judge.judge import PROMPT, Rating, judge_memory
from evaluation.play import CallCost, Play, live_messages, play_scenario
from evaluation.probe import probe_context
from evaluation.record import Record
from evaluation.result import EvaluationResult, Key, LiveAnswer, PlayedScenario, sum_prices
from evaluation.scenario import FOLDER, Scenario
from model.call.stream import Stopped, complete_answer, read_token_usage
from model.modelset import ModelSet
from model.price import compute_call_price
from prompt import LANGUAGES, render_prompt
from store.store import HIGHEST_RATE, LOWEST_RATE
from text.clean import clean_text

MOST_RUNS = 100
PARALLEL = 4
"""How many scenarios are played at once where the models are not on this machine."""
DEFAULT_FORMS: tuple[Form, ...] = ("none", "chunks", "recursive", "all")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EvaluationPlan:
    """What an evaluation does. ``judged``: the utility model judges every form. ``live``: the chat model answers the
    query from every form. ``runs``: how often both are done. ``model``, ``side``: names of the chat model and of the
    utility model; ``profile``, ``side_profile``: of their profiles."""

    scenarios: tuple[Scenario, ...]
    rates: tuple[float, ...]
    forms: tuple[Form, ...]
    runs: int
    judged: bool
    live: bool
    model: str
    side: str
    profile: str
    side_profile: str

    @property
    def units(self) -> list[tuple[Scenario, float]]:
        """Every scenario with every rate."""
        return [(scenario, rate) for scenario in self.scenarios for rate in self.rates]

    @property
    def keys(self) -> list[Key]:
        """The places of all results, in order."""
        return [key for scenario, rate in self.units for key in self.keys_of(scenario, rate)]

    def keys_of(self, scenario: Scenario, rate: float) -> list[Key]:
        """Returns the places of the results of one play."""
        runs = range(1, self.runs + 1)
        return [(scenario.name, rate, form, run) for form in self.forms for run in runs]

    def plain(self) -> dict[str, Any]:
        """Returns the plan as JSON data, with all that a result depends on."""
        return {
            "scenarios": [scenario.model_dump(mode="json") for scenario in self.scenarios],
            "rates": list(self.rates),
            "forms": list(self.forms),
            "runs": self.runs,
            "judged": self.judged,
            "live": self.live,
            "models": [self.model, self.side, self.profile, self.side_profile],
            "prompts": [render_prompt(PROMPT, language, query="", memory="", entities="") for language in LANGUAGES],
        }


@dataclass(frozen=True, slots=True)
class EvaluationOutcome:
    """What came of a plan: its plays and its results so far, in the plan's order. ``stopped``: before its end."""

    plan: EvaluationPlan
    plays: tuple[PlayedScenario, ...]
    results: tuple[EvaluationResult, ...]
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class EvaluationStep:
    """Progress: steps that are done, of how many, and the scenario at work. A step is a turn or a result."""

    done: int
    steps: int
    scenario: str


def build_evaluation_plan(
    models: ModelSet,
    scenarios: Sequence[Scenario],
    *,
    rates: Sequence[float] = (0.3,),
    forms: Sequence[str] = DEFAULT_FORMS,
    runs: int = 1,
    judged: bool = False,
    live: bool = False,
) -> EvaluationPlan:
    """Returns the plan. Runs differ only in judgements and answers, so without both there is one run.

    Raises what ``check_evaluation_choices`` raises.
    """
    check_evaluation_choices(scenarios, rates, forms, runs)
    return EvaluationPlan(
        scenarios=tuple(scenarios),
        rates=tuple(dict.fromkeys(rates)),
        forms=tuple(form for form in FORMS if form in forms),
        runs=runs if judged or live else 1,
        judged=judged,
        live=live,
        model=models.name,
        side=models.side_name,
        profile=models.profile.name,
        side_profile=models.side.name,
    )


def check_evaluation_choices(
    scenarios: Sequence[Scenario], rates: Sequence[float], forms: Sequence[str], runs: int
) -> None:
    """Raises ``OutOfRange`` for a rate or a number of runs, ``UnknownChoice`` for a form that there is not, and
    ``BadScenario`` for no scenario and for two with one name."""
    names = [scenario.name for scenario in scenarios]
    if not names:
        raise BadScenario(file=FOLDER.name, line=0, field="", reason="there is no scenario")
    for name in names:
        if names.count(name) > 1:
            raise BadScenario(file=name, line=0, field="name", reason="another scenario has the same name")
    for rate in rates or ("",):
        if isinstance(rate, str) or not LOWEST_RATE <= rate <= HIGHEST_RATE:
            raise OutOfRange(what="compression rate", value=rate, low=LOWEST_RATE, high=HIGHEST_RATE)
    for form in forms or ("",):
        if form not in FORMS:
            raise UnknownChoice(what="form of memory", value=form, known=", ".join(FORMS))
    if not 1 <= runs <= MOST_RUNS:
        raise OutOfRange(what="number of runs", value=runs, low=1, high=MOST_RUNS)


def is_judge_trusted(models: ModelSet) -> bool:
    """Returns whether the utility model may judge without being asked to: one that reads documents and answers from
    them itself."""
    return models.side.documents == "cited"


def run_evaluation(
    plan: EvaluationPlan,
    models: ModelSet,
    record: Record | None = None,
    *,
    stop: threading.Event | None = None,
    heard: Callable[[EvaluationStep], None] = lambda step: None,
) -> EvaluationOutcome:
    """Runs what ``record`` lacks of the plan and keeps every play and result there at once.

    Ends early, with what there is, once ``stop`` is set. ``heard`` is called from several threads, one at a time.
    Raises ``StoreUnavailable`` and ``DiskFull`` when a result cannot be kept.
    """
    record = record or Record()
    work = _Work(plan, models, record, stop or threading.Event(), heard)
    stopped = False
    try:
        _run_units(work.do, plan.units, 1 if models.alone else PARALLEL, work.stop)
    except Stopped:
        stopped = True
    plays = [record.plays.get((scenario.name, rate)) for scenario, rate in plan.units]
    results = [record.results.get(key) for key in plan.keys]
    return EvaluationOutcome(plan, tuple(filter(None, plays)), tuple(filter(None, results)), stopped)


def _run_units(
    do: Callable[[Scenario, float], None],
    units: Sequence[tuple[Scenario, float]],
    workers: int,
    stop: threading.Event,
) -> None:
    """Does all units, some at a time. An error stops the others and is raised."""
    with ThreadPoolExecutor(workers, "evaluation") as pool:
        futures = [pool.submit(do, scenario, rate) for scenario, rate in units]
        try:
            for future in futures:
                future.result()
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


class _Work:
    """The work on one plan, shared by its threads."""

    def __init__(
        self,
        plan: EvaluationPlan,
        models: ModelSet,
        record: Record,
        stop: threading.Event,
        heard: Callable[[EvaluationStep], None],
    ) -> None:
        self.stop = stop
        self._plan, self._models, self._record, self._heard = plan, models, record, heard
        self._change = threading.Lock()
        self._done = 0
        self._steps = sum(self._steps_of(scenario, rate) for scenario, rate in plan.units)

    def do(self, scenario: Scenario, rate: float) -> None:
        """Makes the results of one play that are missing. Raises ``Stopped``."""
        missing = self._missing(scenario, rate)
        if not missing:
            return
        play = self._record.plays.get((scenario.name, rate)) or self._play(scenario, rate)
        for key in missing:
            if self.stop.is_set():
                raise Stopped
            self._record.keep(self._result(scenario, play, key))
            self._step(scenario)

    def _missing(self, scenario: Scenario, rate: float) -> list[Key]:
        return [key for key in self._plan.keys_of(scenario, rate) if not self._record.has_result(key)]

    def _steps_of(self, scenario: Scenario, rate: float) -> int:
        missing = len(self._missing(scenario, rate))
        there = (scenario.name, rate) in self._record.plays
        return missing + (0 if there or not missing else len(scenario.turns))

    def _step(self, scenario: Scenario, steps: int = 1) -> None:
        with self._change:
            self._done += steps
            self._heard(EvaluationStep(self._done, self._steps, scenario.name))

    def _play(self, scenario: Scenario, rate: float) -> PlayedScenario:
        """Plays the scenario and keeps what came of it, unless the play failed."""
        turns = 0

        def heard(_number: int) -> None:
            nonlocal turns
            turns += 1
            self._step(scenario)

        began = time.monotonic()
        try:
            with play_scenario(scenario, self._models, rate, stop=self.stop.is_set, heard=heard) as play:
                took = collect_play_forms(play, scenario, rate, self._plan.forms, live=self._plan.live)
        except Stopped:
            raise
        except Exception as error:
            code = ensure_gieok_error(error, _log, "the play of a scenario").code
            self._step(scenario, len(scenario.turns) - turns)
            failures = dict.fromkeys(self._plan.forms, code)
            return PlayedScenario(scenario.name, rate, {}, failures, seconds=time.monotonic() - began)
        self._record.keep(took)
        return took

    def _result(self, scenario: Scenario, play: PlayedScenario, key: Key) -> EvaluationResult:
        _, rate, form, run = key
        place: dict[str, Any] = {
            "scenario": scenario.name,
            "language": scenario.language,
            "kind": scenario.kind,
            "rate": rate,
            "form": form,
            "run": run,
        }
        if form in play.failures:
            return EvaluationResult(**place, failed=play.failures[form])
        context = play.contexts[form]
        made = _sum_form_costs(play, form)
        return EvaluationResult(
            **place,
            tokens=context.tokens,
            probes=probe_context(scenario.expect, context.lines),
            rating=self._rating(scenario, play, form) if self._plan.judged else None,
            answer=self._answer(scenario, play, form) if self._plan.live else None,
            waiting=play.waiting,
            made=made,
            made_usd=_price_play_calls(made, self._models),
        )

    def _rating(self, scenario: Scenario, play: PlayedScenario, form: Form) -> Rating:
        """Has a form judged: of the long-term memory the whole text and its entities, of any other all that it holds.
        Raises ``Stopped``."""
        whole = form == "recursive"
        memory = play.memory if whole else play.contexts[form].text
        entities = play.entities if whole else ""
        query, language = scenario.query.text, scenario.language
        return judge_memory(self._models, query, memory, entities, language=language, stop=self.stop)

    def _answer(self, scenario: Scenario, play: PlayedScenario, form: Form) -> LiveAnswer:
        """Asks the chat model the query and probes its answer. Raises ``Stopped``."""
        models, began = self._models, time.monotonic()
        messages = messages_from_dict(play.messages[form])
        try:
            reply = complete_answer(models.chat, messages, stop=self.stop)
        except GieokError as error:
            return LiveAnswer(why=error.code, seconds=time.monotonic() - began)
        prompt, cached, answer, exact = read_token_usage(reply)
        text = clean_text(reply.text).strip()
        if not exact:
            prompt, cached = sum(models.count(str(message.text)) for message in messages), 0
            answer = models.count(text)
        price = compute_call_price(models.name, prompt, cached, answer, url=models.url)
        right = share_held(scenario, text)
        return LiveAnswer(text, right, "", prompt, answer, time.monotonic() - began, price)


def collect_play_forms(
    play: Play, scenario: Scenario, rate: float, forms: Sequence[Form], *, live: bool
) -> PlayedScenario:
    """Returns what these forms hold at the end of a play."""
    contexts: dict[Form, FormContext] = {}
    messages: dict[Form, list[dict[str, Any]]] = {}
    failures: dict[Form, str] = {}
    for form in forms:
        try:
            contexts[form] = play.context(form, scenario.query.text)
            if live:
                messages[form] = messages_to_dict(live_messages(play, form, scenario.query.text))
        except GieokError as error:
            failures[form] = error.code
    view, costs = play.view, play.costs()
    return PlayedScenario(
        scenario=scenario.name,
        rate=rate,
        contexts=contexts,
        failures=failures,
        memory=view.text,
        entities=view.entity_text,
        waiting=len(view.waiting),
        costs=costs,
        usd=sum_prices(_price_play_calls(cost, play.models) for cost in costs.values()),
        messages=messages,
        seconds=play.seconds,
    )


def share_held(scenario: Scenario, answer: str) -> float | None:
    """Returns the share of the expected values that an answer holds; None where none is expected to be there."""
    asked = [item for item in probe_context(scenario.expect, answer.splitlines()) if item.kind != "absent"]
    return sum(item.held for item in asked) / len(asked) if asked else None


def _sum_form_costs(play: PlayedScenario, form: Form) -> CallCost:
    """Returns the cost of the work that a form stands on."""
    kinds = {"chunks": ("summaries",), "recursive": ("folds",), "all": ("summaries", "folds")}.get(form, ())
    costs = [play.costs[kind] for kind in kinds if kind in play.costs]
    return CallCost(
        sum(cost.calls for cost in costs),
        sum(cost.prompt_tokens for cost in costs),
        sum(cost.answer_tokens for cost in costs),
        sum(cost.seconds for cost in costs),
    )


def _price_play_calls(cost: CallCost, models: ModelSet) -> float | None:
    """Returns the US dollars of calls of the utility model; 0 for work of code, None when the price is unknown."""
    if not cost.prompt_tokens:
        return 0.0
    return compute_call_price(models.side_name, cost.prompt_tokens, 0, cost.answer_tokens, url=models.url)
