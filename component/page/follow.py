"""Follows running work until it ends, so that the page shows the progress as it happens.

The page draws everything else first. A click or a key stroke interrupts the wait, and the next page run resumes it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from component.answer.live import LiveAnswerView
from component.documents.adding import Adding
from component.memory.memory_tab import has_pending_fold
from component.page.view import View
from component.panel.panel import Panel
from component.settings.model_status import draw_trouble
from component.widget.wait import redraw_window_at_change
from component.work import resource
from component.work.job import Job
from component.work.readiness import ModelStatus
from component.world.view import WorldView
from graph.context.turns import CHUNK
from graph.summary import ahead
from store import Store, TurnRow

BEAT = 0.1
REST = 0.02
WINDOW_BEAT = 1.0
AHEAD_SECONDS = 90.0
READ_SECONDS = 60.0


Places = Sequence[DeltaGenerator]
"""The places that show the model's state."""


def follow_chat_work(
    view: View,
    live: LiveAnswerView | None,
    panel: Panel,
    model: Places,
    turns: list[TurnRow],
    adding: Adding,
    story: WorldView | None = None,
) -> None:
    """Follows the running work until it ends, then runs the page anew.

    Follows the first of these that is under way: the answer, the files being read, the model being made ready, the work
    after an answer (start of memory, fold, summary; of a story its reading). Returns without a new page run when
    nothing has changed.
    """
    if view.job is not None and live is None:  # the page shows earlier turns
        _follow_unseen(view.job)
    elif live is not None:
        _follow_chat_answer(view, live, panel, model, adding)
    elif adding.active:
        _follow_adding(view, adding, model)
    elif not view.status.is_settled:
        _follow_model(view, model)
    elif story is not None:
        if not _follow_reading(story):
            return
    elif not (_follow_fold(view, panel) or _follow_ahead(view, panel, turns)):
        return
    st.rerun()


def watch_answer_end(view: View, live: LiveAnswerView | None) -> None:
    """Draws the open window anew when the answer has ended; used instead of ``follow_chat_work`` while one is open.

    A page run that follows the answer would keep the window's own widgets waiting (``component.page.window``). The page
    below shows the end once the window is closed, which runs it anew.
    """
    job = view.job
    if job is None:
        return
    if live is not None:
        live.update(job.progress, view.status)
    redraw_window_at_change(lambda: view.jobs.of(view.session_id), job, WINDOW_BEAT)


def _follow_unseen(job: Job) -> None:
    while not job.progress.ended:
        yield_to_clicks()
        job.wait(job.progress.version, BEAT)


def follow_documents(view: View, adding: Adding | None, model: Places) -> None:
    """Follows the files being read, else the model, on the page of the documents; then runs the page anew."""
    if adding is not None and adding.active:
        _follow_adding(view, adding, model)
    elif not view.status.is_settled:
        _follow_model(view, model)
    else:
        return
    st.rerun()


def _follow_adding(view: View, adding: Adding, model: Places) -> None:
    """Redraws the progress of the files until a piece of work begins or ends."""
    intakes, status = resource.open_intakes(), view.status
    seen = intakes.version
    while adding.update():
        status = show_model(view, model, status)
        yield_to_clicks()
        seen = intakes.wait(seen, BEAT)
        time.sleep(BEAT)


def _follow_chat_answer(view: View, live: LiveAnswerView, panel: Panel, model: Places, adding: Adding) -> None:
    status, report, shown_summaries = view.status, None, 0
    while True:
        progress = live.job.progress
        status = show_model(view, model, status)
        live.update(progress, status)
        adding.update()
        if progress.report is not report:
            report = progress.report
            panel.show_prompt(report)
        summaries = sum(bool(step.turns) and step.result is not None for step in progress.steps)
        if summaries != shown_summaries:
            shown_summaries = summaries
            panel.show_summaries()
        if progress.ended:
            return
        yield_to_clicks()
        live.job.wait(progress.version, BEAT)
        time.sleep(0.03)


def _follow_model(view: View, model: Places) -> None:
    """Redraws the model's state until the model is ready or has failed, or until the search for a model has ended."""
    status = view.status
    while not status.is_settled and (status.state == "looking" or view.status.state != "looking"):
        status = show_model(view, model, status)
        rest_between_looks(BEAT)


def show_model(view: View, model: Places, before: ModelStatus) -> ModelStatus:
    """Redraws the model's state if it differs from ``before``; returns the current status."""
    now = view.readiness.status
    if now is not before:
        for place in model:
            draw_trouble(view.words, place, now)
    return now


def _follow_fold(view: View, panel: Panel) -> bool:
    """Waits for the fold that ran when the memory tab was drawn; returns whether it ended within ``AHEAD_SECONDS``."""
    until = time.monotonic() + AHEAD_SECONDS
    while panel.folding and time.monotonic() < until:
        if not has_pending_fold(view):
            return True
        panel.work.show()
        rest_between_looks(3 * BEAT)
    return False


def _follow_ahead(view: View, panel: Panel, turns: list[TurnRow]) -> bool:
    """Waits for the summary that is made ahead after every third turn, at most ``AHEAD_SECONDS``.

    Returns whether the summary arrived during the wait.
    """
    if view.session_id is None or not turns:
        return False
    background, until = resource.find_page_agent().background, time.monotonic() + AHEAD_SECONDS
    if turns[-1].number % CHUNK and not ahead.is_session_summary_pending(
        background, view.session_id
    ):  # the rhythm may have moved
        return False
    had_summary = _has_summary(view.store, view.session_id, turns[-1].number)
    while (
        not had_summary and ahead.is_session_summary_pending(background, view.session_id) and time.monotonic() < until
    ):
        panel.work.show()
        rest_between_looks(3 * BEAT)
    return not had_summary and _has_summary(view.store, view.session_id, turns[-1].number)


def _follow_reading(story: WorldView) -> bool:
    """Waits until the last turn of a story is worked off, at most ``READ_SECONDS``; returns whether that happened
    now."""
    until, node = time.monotonic() + READ_SECONDS, story.node
    while node is not None and node.status == "raw" and time.monotonic() < until:
        rest_between_looks(3 * BEAT)
        node = story.engine.store.worlds.node(node.id)
        if node.status != "raw":
            return True
    return False


def _has_summary(store: Store, session: str, last: int) -> bool:
    newest = store.ledger.summaries(session, limit=1)
    return bool(newest) and newest[-1].turns[-1] >= last


def rest_between_looks(seconds: float) -> None:
    """Rests, and lets Streamlit interrupt this run for a user's action every ``REST`` seconds: one run of the page
    follows the other, so that a click waits for this one."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        yield_to_clicks()
        time.sleep(min(left, REST))


def yield_to_clicks() -> None:
    """Lets Streamlit interrupt this run for a user's action; reading session state is enough and sends nothing."""
    st.session_state.get("told")
