"""The right panel: the summary history with its totals, what is due next, and what the last prompt held.

On narrow screens it is a drawer (facts: ui.md §4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from component.prompt_bar import draw_prompt
from component.stage import stage
from component.summary import draw_summaries
from component.total import draw_due, draw_totals, totals
from component.view import View
from store import Summary, Turn

CARDS = 20


@dataclass(frozen=True, slots=True)
class Panel:
    """The drawn panel; its parts are redrawn while an answer runs."""

    view: View
    history: DeltaGenerator
    prompt: DeltaGenerator

    def show_summaries(self) -> None:
        """Reads the ledger again."""
        with self.history.container():
            _draw_history(self.view, _summaries(self.view))

    def show_prompt(self, report: dict[str, Any] | None) -> None:
        with self.prompt.container():
            draw_prompt(self.view.words, report)


def draw_panel(view: View, turns: Sequence[Turn]) -> Panel:
    """Draws the whole panel where it is called."""
    with stage("context", view.session_id):
        panel = _draw(view)
        job = view.job
        panel.show_prompt((job.progress.report if job else None) or last_report(turns))
    return panel


def draw_drawer(view: View) -> None:
    """The same as a drawer from the right."""
    turns = view.store.turns(view.session_id, limit=5) if view.session_id else []

    @st.dialog(view.words("panel.title"), position="right", width="medium")
    def drawer() -> None:
        with st.container(key="drawer"):
            _draw(view).show_prompt(last_report(turns))

    drawer()


def last_report(turns: Sequence[Turn]) -> dict[str, Any] | None:
    """The newest report among the turns."""
    return next((turn.report for turn in reversed(turns) if turn.report), None)


def _draw(view: View) -> Panel:
    words = view.words
    st.markdown(f"## {words('panel.history')}", anchors=False)
    st.caption(words("panel.current", rate=f"{view.rate:g}"))
    history = st.empty()
    st.markdown(f"## {words('due.title')}", anchors=False)
    draw_due(words, view.session.turn_count if view.session else 0)
    st.markdown(f"## {words('prompt.title')}", anchors=False)
    panel = Panel(view, history, st.empty())
    panel.show_summaries()
    return panel


def _draw_history(view: View, summaries: Sequence[Summary]) -> None:
    draw_summaries(view.words, summaries[-CARDS:], len(summaries) - CARDS)
    if not summaries:
        return
    st.markdown(f"## {view.words('total.title')}", anchors=False)
    draw_totals(view.words, totals(summaries))


def _summaries(view: View) -> list[Summary]:
    return view.store.ledger.summaries(view.session_id, limit=100_000) if view.session_id else []
