"""A scenario of the tab: choose one, play it, and see which planted values each form of memory holds."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from html import escape

import streamlit as st

from component.evaluation import side_work
from component.evaluation.scenario_run import FormResult, ScenarioResult, run_scenario
from component.page.catalogue import Words
from component.page.view import View, run_page_action
from component.panel.summary_history import round_to_percent
from component.widget.failure import draw_error
from component.widget.markdown import escape_markdown, sanitize_text
from component.work.side_call import SideCall
from errors import GieokError
from evaluation import scenario as scenarios
from evaluation.scenario import Scenario
from graph.context.turns import CHUNK
from memory.state import SHORT_TURNS


def draw_scenario(view: View, prefix: str = "") -> None:
    """Draws the choice, the button and the last result."""
    words, session = view.words, view.session_id or ""
    st.markdown(f"## {words('evaluation.scenario')}", anchors=False)
    names = _sort_scenario_names(words)
    if not names:
        st.caption(words("evaluation.scenario.none"))
        return
    st.caption(words("evaluation.scenario.about"))
    key = f"{prefix}evaluation-scenario-{words.language}"
    name = st.selectbox(
        words("evaluation.scenario.choose"), names, format_func=partial(_format_scenario_name, words), key=key
    )
    try:
        scenario = scenarios.load_scenario(scenarios.FOLDER / f"{name}.yaml")
    except GieokError as error:
        draw_error(words, error)
        return
    st.caption(escape_markdown(_describe_scenario(view, scenario)))
    idle = view.status.models is not None and not side_work.is_busy(session)
    st.button(
        words("evaluation.scenario.go"), key=f"{prefix}evaluation-scenario-go", icon=":material/play_arrow:",
        disabled=not idle, on_click=partial(_start_scenario, view, session, key),
    )  # fmt: skip
    side_work.draw_work(view, session, "scenario", partial(_render_scenario_call, words), prefix)


def _sort_scenario_names(words: Words) -> Sequence[str]:
    """Returns the names of the scenarios, those in the page's language first."""
    return sorted(scenarios.list_scenario_names(), key=lambda name: not name.endswith(f"_{words.language}"))


def _format_scenario_name(words: Words, name: str) -> str:
    """Returns a scenario's name for people, with its language where it is not the page's."""
    kind, _, language = name.rpartition("_")
    key = f"evaluation.scenario.name.{kind}"
    label = words(key) if key in words else kind.replace("_", " ")
    return label if language == words.language else f"{label} ({language.upper()})"


def _describe_scenario(view: View, scenario: Scenario) -> str:
    """Returns what the scenario is about and, where a model writes summaries and memory, how many calls it takes."""
    words, models, turns = view.words, view.status.models, len(scenario.turns)
    parts = [scenario.about, words("evaluation.scenario.turns", turns=turns, percent=round_to_percent(view.rate))]
    if models is not None and models.side.summaries == "model":
        parts.append(words("evaluation.scenario.calls", calls=turns // CHUNK + turns // SHORT_TURNS))
    return " · ".join(parts)


def _start_scenario(view: View, session: str, field: str) -> None:
    """Starts the scenario that ``field`` names now: the choice may arrive together with the press."""
    models, rate, name = view.status.models, view.rate, st.session_state[field]
    if models is None:
        return

    def start() -> None:
        scenario = scenarios.load_scenario(scenarios.FOLDER / f"{name}.yaml")
        side_work.start_side_work(session, "scenario", lambda call: run_scenario(scenario, models, rate, call))

    run_page_action(start)


def _render_scenario_call(words: Words, call: SideCall) -> None:
    if not call.done:
        share = float(call.at or 0.0)
        st.progress(share, words("evaluation.scenario.running", percent=round(100 * share)))
    elif call.error is not None:
        draw_error(words, call.error)
    elif isinstance(call.result, ScenarioResult):
        _render_scenario_result(words, call.result)
    else:
        st.caption(words("evaluation.stopped"))


def _render_scenario_result(words: Words, result: ScenarioResult) -> None:
    said = words(
        "evaluation.scenario.asked",
        name=_format_scenario_name(words, result.name),
        query=result.query,
        percent=round_to_percent(result.rate),
    )
    st.caption(escape_markdown(said))
    st.html(render_form_table(words, result.forms))
    if result.waiting:
        st.caption(f":material/schedule: {words('evaluation.scenario.waiting', count=result.waiting)}")
    for form in result.forms:
        if form.failed is not None:
            draw_error(words, form.failed)
        elif form.wrong and form.form != "none":
            _render_wrong_probes(words, form)
    st.caption(f"{result.seconds:.1f}{words('unit.second')}")


def _render_wrong_probes(words: Words, form: FormResult) -> None:
    title = words("evaluation.scenario.wrong", form=words(f"evaluation.form.{form.form}"), count=len(form.wrong))
    st.caption(f"**{escape_markdown(title)}**")
    lines = (words(f"evaluation.probe.{item.kind}", value=item.value, about=item.about) for item in form.wrong)
    st.markdown("\n".join(f"- {escape_markdown(line)}" for line in lines))


def render_form_table(words: Words, forms: Sequence[FormResult]) -> str:
    """Returns recall, stale values and tokens of every form as a table."""
    names = ("form", "recall", "stale", "tokens")
    head = "".join(f'<th scope="col">{escape(words(f"evaluation.column.{name}"))}</th>' for name in names)
    rows = "".join(
        f'<tr><th scope="row">{escape(words(f"evaluation.form.{form.form}"))}</th><td>'
        f"{_format_form_share(form.recall)}</td>"
        f"<td>{_format_form_share(form.stale)}</td><td>{form.tokens:,}</td></tr>"
        for form in forms
    )
    return sanitize_text(f'<table class="gieok-figures"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>')


def _format_form_share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f}%"
