"""The right panel: the summary history with its totals, the long-term memory, and what the last prompt held.

On narrow screens it is a drawer (facts: ui.md §4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from component import window
from component.comparison import draw_entry
from component.context import draw_context
from component.jump import leap
from component.memory import draw_memory, folds
from component.prompt_bar import draw_prompt
from component.revision import ask_revision
from component.stage import stage
from component.summary import Way, draw_summaries
from component.tabs import draw_tabs
from component.total import draw_due, draw_totals, totals
from component.trace import draw_trace
from component.view import View
from store import Turn

CARDS = 20
DRAWER = "drawer"


@dataclass(frozen=True, slots=True)
class Panel:
    """The drawn panel; its parts are redrawn while an answer runs.

    ``memory``: that tab is open; ``folding``: and a fold of this session was under way when it was drawn.
    """

    view: View
    history: DeltaGenerator | None
    prompt: DeltaGenerator | None
    prefix: str = ""
    memory: bool = False
    folding: bool = False

    def show_summaries(self) -> None:
        """Reads the ledger again; nothing happens while another tab is open."""
        if self.history is not None:
            with self.history.container():
                _draw_history(self.view, self.prefix)

    def show_prompt(self, report: dict[str, Any] | None) -> None:
        if self.prompt is not None:
            with self.prompt.container():
                draw_prompt(self.view.words, report)


def draw_panel(view: View, turns: Sequence[Turn]) -> Panel:
    """Draws the whole panel where it is called."""
    with stage("context", view.session_id):
        panel = _draw(view)
        job = view.job
        panel.show_prompt((job.progress.report if job else None) or last_report(turns))
    return panel


def draw_drawer(view: View, about: object = None) -> None:
    """The same as a drawer from the right."""

    def content() -> None:
        turns = view.store.turns(view.session_id, limit=5) if view.session_id else []
        _draw(view, "drawer-").show_prompt(last_report(turns))

    window.draw(view.words("panel.title"), content, width="medium", position="right")


def last_report(turns: Sequence[Turn]) -> dict[str, Any] | None:
    """The newest report among the turns."""
    return next((turn.report for turn in reversed(turns) if turn.report), None)


def _draw(view: View, prefix: str = "") -> Panel:
    """The tabs; only the open one is drawn."""
    words = view.words
    names = ("summaries", "memory", "context", "trace")
    tabs = draw_tabs(words, f"{prefix}tabs", "panel.tab", names, _keep_typed, (prefix,))
    summaries, memory, context, trace = tabs
    folding = bool(memory.open) and folds(view)
    if memory.open:
        with memory:
            draw_memory(view, prefix)
    if context.open:
        with context:
            draw_context(view, prefix)
            st.markdown(f"## {words('compare.title')}", anchors=False)
            draw_entry(view, prefix)
    if trace.open:
        with trace:
            draw_trace(view, prefix)
    if not summaries.open:
        return Panel(view, None, None, prefix, bool(memory.open), folding)
    with summaries:
        return _draw_summaries(view, prefix)


def _keep_typed(prefix: str) -> None:
    """What was typed in a tab is told to the browser anew when the tab comes back: it forgets fields it does not show.

    Streamlit does so by itself too, but not when the tab comes back while the page is still being drawn.
    """
    for key, value in st.session_state.items():
        if isinstance(value, str) and str(key).startswith((f"{prefix}memory-", f"{prefix}entity-")):
            st.session_state[key] = value


def _draw_summaries(view: View, prefix: str) -> Panel:
    words = view.words
    st.markdown(f"## {words('panel.history')}", anchors=False)
    st.caption(words("panel.current", rate=f"{view.rate:g}"))
    history = st.container(key=f"{prefix}panel-history").empty()
    st.markdown(f"## {words('due.title')}", anchors=False)
    draw_due(words, view.session.turn_count if view.session else 0)
    st.markdown(f"## {words('prompt.title')}", anchors=False)
    panel = Panel(view, history, st.container(key=f"{prefix}panel-prompt").empty(), prefix)
    panel.show_summaries()
    return panel


def _draw_history(view: View, prefix: str) -> None:
    """The newest cards, the way to older ones, and the totals of all."""
    ledger, session = view.store.ledger, view.session_id
    records = ledger.records(session) if session else []
    window = f"cards-{session}"
    shown = ledger.summaries(session, limit=int(st.session_state.get(window, CARDS))) if session else []
    earlier = len(records) - len(shown)
    if earlier > 0 and view.job is None:
        _draw_earlier(view, window, min(earlier, CARDS), prefix)
    ways = () if view.job else ((view.words("revision.open"), "difference", ask_revision), _to_turns(view))
    draw_summaries(view.words, shown, 0 if view.job is None else earlier, ways, prefix)
    if records:
        st.markdown(f"## {view.words('total.title')}", anchors=False)
        draw_totals(view.words, totals(records))


def _to_turns(view: View) -> Way:
    """Shows the turns of a summary in the conversation."""

    def go(first_turn: int) -> None:
        if view.session is not None:
            leap(view.session.id, first_turn, view.session.turn_count)

    return view.words("jump.turns"), "my_location", go


def _draw_earlier(view: View, window: str, count: int, prefix: str) -> None:
    def widen() -> None:
        st.session_state[window] = int(st.session_state.get(window, CARDS)) + CARDS

    label = view.words("panel.more", count=count)
    st.button(label, key=f"{prefix}more-summaries", icon=":material/history:", type="tertiary", on_click=widen)
