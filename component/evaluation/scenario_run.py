"""One scenario played for the page: every form of memory with the planted values that it holds.

Nothing here calls Streamlit. The scenario is played in a folder of its own, which goes afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass

from component.work.side_call import SideCall
from errors import GieokError
from evaluation import probe
from evaluation.form import Form
from evaluation.play import Play, play_scenario
from evaluation.probe import Probe
from evaluation.scenario import Scenario
from model.modelset import ModelSet

FORMS: tuple[Form, ...] = ("none", "chunks", "recursive", "all", "full")


@dataclass(frozen=True, slots=True)
class FormResult:
    """What one form of memory holds at the end of the scenario. ``tokens``: of what it gives the model. ``failed``: the
    error where it gives nothing."""

    form: Form
    tokens: int = 0
    probes: tuple[Probe, ...] = ()
    failed: GieokError | None = None

    @property
    def recall(self) -> float | None:
        """The share of the expected values that it holds rightly."""
        return probe.compute_recall(self.probes)

    @property
    def stale(self) -> float | None:
        """The share of the replaced values that stand as the current ones."""
        return probe.stale_share(self.probes)

    @property
    def wrong(self) -> tuple[Probe, ...]:
        """The probes that failed."""
        return tuple(item for item in self.probes if not item.ok)


@dataclass(frozen=True, slots=True)
class ScenarioResult:
    """The result of a scenario at a compression rate. ``waiting``: turns that the long-term memory has not taken in.
    ``seconds``: that the play took."""

    name: str
    query: str
    rate: float
    forms: tuple[FormResult, ...]
    waiting: int
    seconds: float


def run_scenario(scenario: Scenario, models: ModelSet, rate: float, call: SideCall) -> ScenarioResult:
    """Plays the scenario and returns what every form holds; ``call.at`` is the share of its turns played so far.

    Raises ``Stopped``, ``EvaluationFailed`` and the errors of opening the folder.
    """

    def heard(number: int) -> None:
        call.at = number / len(scenario.turns)

    with play_scenario(scenario, models, rate, stop=call.stop.is_set, heard=heard) as play:
        forms = tuple(_probe_form(play, scenario, form) for form in FORMS)
        view = play.view
        return ScenarioResult(scenario.name, scenario.query.text, rate, forms, len(view.waiting), play.seconds)


def _probe_form(play: Play, scenario: Scenario, form: Form) -> FormResult:
    try:
        context = play.context(form)
    except GieokError as error:
        return FormResult(form, failed=error)
    return FormResult(form, context.tokens, probe.probe_context(scenario.expect, context.lines))
