"""Staying with what is under way until it has ended, so that the page shows it as it happens.

Everything else is drawn before; any click or key stroke interrupts the wait and the next run takes it up again.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from component import resource
from component.adding import Adding
from component.job import Job
from component.live import Live
from component.memory import folds
from component.model_status import draw_status
from component.panel import Panel
from component.readiness import Status
from component.view import View
from graph.turns import CHUNK
from store import Store, Turn

BEAT = 0.1
WINDOW_BEAT = 1.0
AHEAD_SECONDS = 90.0
START_SECONDS = 10.0


Places = Sequence[DeltaGenerator]
"""Where the model's state is shown."""


def follow(view: View, live: Live | None, panel: Panel, model: Places, turns: list[Turn], adding: Adding) -> None:
    """Follows the answer, else files on their way in, else the model's loading, else what is made after the answer;
    then runs the page anew."""
    if view.job is not None and live is None:  # the reader is further back
        _follow_unseen(view.job)
    elif live is not None:
        _follow_answer(view, live, panel, model, adding)
    elif adding.active:
        _follow_adding(view, adding, model)
    elif not view.status.settled:
        _follow_model(view, model)
    elif not (_follow_start(panel) or _follow_fold(view, panel) or _follow_ahead(view, turns)):
        return
    st.rerun()


def watch(view: View, live: Live | None) -> None:
    """While a window is open: the page is drawn anew when the answer has ended.

    A run that follows the answer would keep the window's own widgets waiting (``component.window``).
    """
    job = view.job
    if job is None:
        return
    if live is not None:
        live.update(job.progress, view.status)

    @st.fragment(run_every=WINDOW_BEAT)
    def look() -> None:
        if job.progress.ended:
            st.rerun()

    look()


def _follow_unseen(job: Job) -> None:
    while not job.progress.ended:
        _yield_to_clicks()
        job.wait(job.progress.version, BEAT)


def follow_documents(view: View, adding: Adding | None, model: Places) -> None:
    """The same for the page of the documents."""
    if adding is not None and adding.active:
        _follow_adding(view, adding, model)
    elif not view.status.settled:
        _follow_model(view, model)
    else:
        return
    st.rerun()


def _follow_adding(view: View, adding: Adding, model: Places) -> None:
    """Until a piece of work begins or ends."""
    intakes, status = resource.intakes(), view.status
    seen = intakes.version
    while adding.update():
        status = _show_model(view, model, status)
        _yield_to_clicks()
        seen = intakes.wait(seen, BEAT)
        time.sleep(BEAT)


def _follow_answer(view: View, live: Live, panel: Panel, model: Places, adding: Adding) -> None:
    status, report, made = view.status, None, 0
    while True:
        progress = live.job.progress
        status = _show_model(view, model, status)
        live.update(progress, status)
        adding.update()
        if progress.report is not report:
            report = progress.report
            panel.show_prompt(report)
        summaries = sum(bool(step.turns) and step.result is not None for step in progress.steps)
        if summaries != made:
            made = summaries
            panel.show_summaries()
        if progress.ended:
            return
        _yield_to_clicks()
        live.job.wait(progress.version, BEAT)
        time.sleep(0.03)


def _follow_model(view: View, model: Places) -> None:
    """Until it is there, or until it is known which one it will be."""
    status = view.status
    while not status.settled and (status.state == "looking" or view.status.state != "looking"):
        status = _show_model(view, model, status)
        _yield_to_clicks()
        time.sleep(BEAT)


def _show_model(view: View, model: Places, before: Status) -> Status:
    """Redraws the model's state when it has changed."""
    now = view.readiness.status
    if now is not before:
        for place in model:
            draw_status(view.words, place, now)
    return now


def _follow_start(panel: Panel) -> bool:
    """Whether memory, whose tab is open, has just been started."""
    memory, until = resource.agent().memory, time.monotonic() + START_SECONDS
    if not panel.memory or memory is None or not memory.starting:
        return False
    while memory.starting and time.monotonic() < until:
        _yield_to_clicks()
        memory.wait(BEAT)
    return not memory.starting


def _follow_fold(view: View, panel: Panel) -> bool:
    """Whether the fold that was under way when the memory tab was drawn has ended."""
    until = time.monotonic() + AHEAD_SECONDS
    while panel.folding and time.monotonic() < until:
        if not folds(view):
            return True
        _yield_to_clicks()
        time.sleep(3 * BEAT)
    return False


def _follow_ahead(view: View, turns: list[Turn]) -> bool:
    """Whether the summary that is made ahead after every third turn has arrived while waiting for it."""
    if view.session_id is None or not turns or turns[-1].number % CHUNK:
        return False
    background, until = resource.agent().background, time.monotonic() + AHEAD_SECONDS
    had = _has_summary(view.store, view.session_id, turns[-1].number)
    while not had and not background.idle(0) and time.monotonic() < until:
        _yield_to_clicks()
        time.sleep(3 * BEAT)
    return not had and _has_summary(view.store, view.session_id, turns[-1].number)


def _has_summary(store: Store, session: str, last: int) -> bool:
    newest = store.ledger.summaries(session, limit=1)
    return bool(newest) and newest[-1].turns[-1] >= last


def _yield_to_clicks() -> None:
    """Lets Streamlit interrupt this run for what the user did; reading session state is enough and sends nothing."""
    st.session_state.get("told")
