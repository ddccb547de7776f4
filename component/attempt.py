"""Trying a model that was entered, with one short call; and using it from the next message on."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

import settings
from component import choice as chosen
from component import window
from component.choice import Choice
from component.errand import Errand, begin
from component.failure import draw_error
from component.markdown import plain
from component.view import View
from model import trial
from model.stream import Stopped

TRIED = "models-tried"
BEAT = 0.7
TEST, USE = ":material/network_check:", ":material/check:"


def draw_actions(view: View, choice: Choice, name: str = "", used: bool = False) -> None:
    """The two buttons; ``name`` tells them from others of the same window, ``used``: this choice answers already."""
    words, wrong = view.words, choice.problem(settings.current()) is not None
    with st.container(horizontal=True, key=f"models-actions{name}"):
        test = st.button(words("models.test"), key=f"models-test{name}", icon=TEST, disabled=wrong)
        use = st.button(words("models.use"), key=f"models-use{name}", type="primary", icon=USE, disabled=wrong or used)
    act(view, choice, test, use)


def act(view: View, choice: Choice, test: bool, use: bool) -> None:
    """What a button asks for, and below it what came of it."""
    problem = choice.problem(settings.current())
    if problem and (test or use or choice.kind == "local"):
        st.warning(plain(view.words(f"models.problem.{problem}")), icon=":material/warning:")
    elif test:
        st.session_state[TRIED] = (choice, begin(_trying(choice)))
    elif use:
        use_models(choice)
    tried = st.session_state.get(TRIED)
    if tried and tried[0] == choice and not problem:
        _draw_tried(view, tried[1])


def _trying(choice: Choice) -> Callable[[Errand], trial.Trial | None]:
    asked = choice.applied(settings.current())

    def work(errand: Errand) -> trial.Trial | None:
        try:
            return trial.run(asked, errand.stop)
        except Stopped:
            return None

    return work


def _draw_tried(view: View, errand: Errand) -> None:
    """What came of it; looked at again every moment while it runs."""
    words = view.words

    @st.fragment(run_every=None if errand.done else BEAT)
    def result() -> None:
        with st.container(key="models-result"):
            if not errand.done:
                st.markdown(f":shimmer[{words('models.testing')}]")
                st.button(words("chat.withdraw"), key="models-test-stop", on_click=errand.stop.set)
            elif errand.error is not None:
                draw_error(words, errand.error)
            elif errand.result is not None:
                found: trial.Trial = errand.result
                said = words("models.works", name=found.name, seconds=found.seconds)
                st.success(plain(said), icon=":material/check_circle:")
            else:
                st.caption(words("models.test.stopped"))

    result()


def use_models(choice: Choice | None) -> None:
    """From the next message on; the window closes and the side shows how it goes."""
    chosen.choose(choice)
    st.session_state.pop(TRIED, None)
    window.shut()
