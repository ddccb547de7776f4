"""Trying a model that the user entered: one short call tests the model, which is in use as soon as it answers."""

from __future__ import annotations

import streamlit as st

import settings
from component.page.view import View
from component.widget.failure import draw_error
from component.widget.markdown import escape_markdown
from component.widget.wait import redraw_when
from component.work import resource
from component.work.in_use import Attempt
from model.choice.choice import Choice
from model.embedded.catalogue import show_name

TRIED = "models-tried"
DRAWN = "models-tried-drawn"
"""In session state: the attempt whose end the whole window was drawn with."""
BEAT = 0.7
USE = ":material/check:"


def draw_use(view: View, choice: Choice, name: str = "", used: bool = False) -> None:
    """Draws the button that uses the choice. ``name`` tells the buttons of one window apart; ``used``: the choice is
    already in use."""
    unusable = choice.problem(settings.load_current_settings()) is not None
    label = view.words("models.use")
    with st.container(horizontal=True, key=f"models-actions{name}"):
        use = st.button(label, key=f"models-use{name}", type="primary", icon=USE, disabled=unusable or used)
    render_model_attempt(view, choice, use)


def render_model_attempt(view: View, choice: Choice, use: bool) -> None:
    """Begins the test when the button was clicked (``use``), and draws the state of the test."""
    problem = choice.problem(settings.load_current_settings())
    if problem and (use or choice.kind == "local"):
        st.warning(escape_markdown(view.words(f"models.problem.{problem}")), icon=":material/warning:")
    elif use:
        st.session_state[TRIED] = resource.in_use().begin(choice)
    attempt: Attempt | None = st.session_state.get(TRIED)
    if attempt is not None and attempt.is_of(choice) and not problem:
        _draw_attempt(view, attempt)


def find_taken_attempt(kind: str) -> Attempt | None:
    """Returns the last attempt of this page if it is of that kind and in use: its key is kept elsewhere then."""
    attempt: Attempt | None = st.session_state.get(TRIED)
    if attempt is None or attempt.choice.kind != kind or attempt.readiness.status.state != "ready":
        return None
    return attempt


def _draw_attempt(view: View, attempt: Attempt) -> None:
    """Draws the outcome of an attempt. Looks again every moment while it runs, then has the window drawn anew.

    An attempt can end while the window is being drawn, after its fields were. So the window is drawn once more even if
    the attempt has ended by the time that this is reached: only then is the field of the key empty.
    """
    words, drawn = view.words, st.session_state.get(DRAWN) is attempt

    def look() -> bool:
        status = attempt.readiness.status
        with st.container(key="models-result", gap="xsmall"):
            if not status.is_settled:
                st.markdown(f":shimmer[{words('models.testing')}]")
                st.caption(words("models.testing.about"))
                st.button(words("chat.withdraw"), key="models-test-stop", on_click=attempt.readiness.cancel)
            elif status.error is not None:
                draw_error(words, status.error)
                _draw_stays(view)
            elif status.models is None:
                st.caption(words("models.test.stopped"))
                _draw_stays(view)
            elif attempt.trial is not None:
                message = words("models.works", name=show_name(attempt.trial.name), seconds=attempt.trial.seconds)
                st.success(escape_markdown(message), icon=":material/check_circle:")
        if status.is_settled:
            st.session_state[DRAWN] = attempt
        return status.is_settled and not drawn

    redraw_when(look, None if drawn else BEAT)


def _draw_stays(view: View) -> None:
    """Draws which model stays in use, if there is one."""
    if (models := view.status.models) is not None:
        st.caption(escape_markdown(view.words("models.stays", name=show_name(models.name))))
