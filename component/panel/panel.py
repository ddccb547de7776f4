"""The right panel with its tabs: summaries and totals, long-term memory, the prompt, the search in documents, and the
test of the memory.

On narrow screens the panel is a drawer (design 8.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from component.answer.trace import draw_trace
from component.chat.chat import build_turns_key
from component.chat.jump import jump_to_turn
from component.memory.memory_tab import draw_memory, has_pending_fold
from component.page import window
from component.page.catalogue import Words
from component.page.view import View
from component.panel.comparison import draw_entry
from component.panel.context_tab import draw_context
from component.panel.pinned_turns import draw_pinned_turns
from component.panel.prompt_bar import draw_prompt
from component.panel.revision import ask_revision
from component.panel.rewrite_offer import draw_rewrite_offer
from component.panel.summarise import draw_summarise_entry
from component.panel.summary_history import Way, draw_summaries, round_to_percent
from component.panel.total import draw_due, draw_totals, sum_summary_records
from component.panel.work_line import WorkLine, draw_work_line
from component.widget.region import open_page_region
from component.widget.tabs import draw_tabs
from component.world.panel import DrawTab, draw_world_panel
from component.world.view import WorldView, read_story
from graph.answer.documents import brought_chars
from graph.context.turns import CHUNK
from store import SummaryRow, TurnRow

CARDS, MORE_CARDS = 8, 20
"""Summaries that the panel has at first, folded but for the newest, and how many more a press brings. What is folded
is in the page, too, so the first are few."""
DRAWER = "drawer"
TABS = ("summaries", "memory", "context", "trace", "evaluation")


@dataclass(frozen=True, slots=True)
class Panel:
    """The drawn panel; its parts are redrawn while an answer runs.

    ``work``: the line of the side work; ``memory``: the memory tab is open; ``folding``: the memory tab is open, and a
    fold of this session was under way when the panel was drawn.
    """

    view: View
    work: WorkLine
    history: DeltaGenerator | None
    prompt: DeltaGenerator | None
    saved: DeltaGenerator | None
    prefix: str = ""
    memory: bool = False
    folding: bool = False

    def show_summaries(self) -> None:
        """Draws the summaries and what they saved again from the ledger; does nothing while another tab is open."""
        if self.history is None or self.saved is None:
            return
        records = self.view.store.ledger.records(self.view.session_id) if self.view.session_id else []
        with self.saved.container():
            if records:
                draw_totals(self.view.words, sum_summary_records(records))
        with self.history.container():
            _draw_history(self.view, len(records), self.prefix)

    def show_prompt(self, report: dict[str, Any] | None) -> None:
        if self.prompt is not None:
            with self.prompt.container():
                draw_prompt(self.view.words, report)


def draw_panel(view: View, turns: Sequence[TurnRow], story: WorldView | None = None) -> Panel:
    """Draws the whole panel where it is called. ``story``: what the conversation's world adds.

    The panel of a path begins empty: the summaries of turns that have gone would stay beside a running answer.
    """
    with open_page_region("context", (view.session_id, build_turns_key(view))):
        panel = _render_panel_tabs(view, story)
        job = view.job
        panel.show_prompt((job.progress.report if job else None) or last_report(turns))
    return panel


def render_panel_drawer(view: View, about: object = None) -> None:
    """Draws the same panel as a drawer from the right."""

    story = read_story(view)

    def content() -> None:
        turns = view.store.turns(view.session_id, limit=5) if view.session_id else []
        _render_panel_tabs(view, story, "drawer-").show_prompt(last_report(turns))

    title = view.words("panel.title" if story is None else "world.panel")
    window.render_page_window(title, content, width="medium", position="right")


def last_report(turns: Sequence[TurnRow]) -> dict[str, Any] | None:
    """Returns the newest report of a prompt among the turns."""
    return next((turn.report for turn in reversed(turns) if turn.report), None)


def _render_panel_tabs(view: View, story: WorldView | None, prefix: str = "") -> Panel:
    """Draws the tabs, and the content of the open tab only; below them, always in sight, the line of the side work. A
    story has the tabs of its world."""
    words, content = view.words, st.container(key=f"{prefix}panel-tabs")
    work = draw_work_line(view, prefix)
    with content:
        if story is not None:
            draw_world_panel(story, prefix, _list_memory_tabs(view))
            return Panel(view, work, None, None, None, prefix)
        return _draw_open_tab(view, words, work, prefix)


def _list_memory_tabs(view: View) -> dict[str, DrawTab]:
    """Returns the tabs of a story that remembers: its summaries and its memory."""
    if view.session is None or not view.session.remembers:
        return {}
    return {
        "summaries": lambda shown, prefix: _draw_story_summaries(shown.view, prefix),
        "memory": lambda shown, prefix: draw_memory(shown.view, prefix),
    }


def _draw_story_summaries(view: View, prefix: str) -> None:
    st.caption(view.words("world.summaries.about"))
    made = len(view.store.ledger.records(view.session_id)) if view.session_id else 0
    _draw_history(view, made, prefix)


def _draw_open_tab(view: View, words: Words, work: WorkLine, prefix: str) -> Panel:
    """Draws the tabs with the content of the open one."""
    tabs = draw_tabs(words, f"{prefix}tabs", "panel.tab", TABS, _keep_panel_fields, (prefix,))
    summaries, memory, context, trace, evaluation = tabs
    folding = bool(memory.open) and has_pending_fold(view)
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
    if evaluation.open:
        from component.evaluation.evaluation_tab import draw_evaluation

        with evaluation:
            draw_evaluation(view, prefix)
    if not summaries.open:
        return Panel(view, work, None, None, None, prefix, bool(memory.open), folding)
    with summaries:
        return _draw_summaries(view, work, prefix)


def _keep_panel_fields(prefix: str) -> None:
    """Sends text that the user typed in a tab to the browser again, which forgets fields that it does not show.

    Streamlit does this by itself too, but not when the tab comes back while the page is still being drawn.
    """
    typed = (f"{prefix}memory-", f"{prefix}entity-", f"{prefix}evaluation-query-")
    for key, value in st.session_state.items():
        if isinstance(value, str) and str(key).startswith(typed):
            st.session_state[key] = value


def _draw_summaries(view: View, work: WorkLine, prefix: str) -> Panel:
    """Draws first what was saved, then the newest summary; what is older, and the last prompt, are folded."""
    words = view.words
    saved = st.container(key=f"{prefix}panel-saved").empty()
    st.markdown(f"## {words('panel.history')}", anchors=False)
    st.caption(words("panel.current", rate=f"{view.rate:g}", percent=round_to_percent(view.rate)))
    draw_rewrite_offer(view, prefix)
    draw_summarise_entry(view, prefix)
    history = st.container(key=f"{prefix}panel-history").empty()
    draw_pinned_turns(view, view.store.pinned_turns(view.session.id) if view.session else [], prefix)
    st.markdown(f"## {words('due.title')}", anchors=False)
    draw_due(words, view.session.turn_count if view.session else 0, _find_covered(view))
    with st.container(key=f"{prefix}prompt-folded"), st.expander(words("prompt.title"), icon=":material/calculate:"):
        prompt = st.container(key=f"{prefix}panel-prompt").empty()
    panel = Panel(view, work, history, prompt, saved, prefix)
    panel.show_summaries()
    return panel


def _draw_history(view: View, made: int, prefix: str) -> None:
    """Draws the newest card, and folded below it the older ones with the button for more of them. ``made``: how many
    summaries there are."""
    ledger, session = view.store.ledger, view.session_id
    size_key = f"cards-{session}"
    summaries = ledger.summaries(session, limit=int(st.session_state.get(size_key, CARDS))) if session else []
    earlier = made - len(summaries)
    ways = () if view.job else ((view.words("revision.open"), "difference", ask_revision), _to_turns(view))
    pinned = {turn.number for turn in view.store.pinned_turns(session)} if session else set()
    left, brought = 0 if view.job is None else earlier, _count_brought_chars(view, summaries)
    draw_summaries(view.words, summaries[-1:], 0, ways, prefix, brought, pinned)
    if not summaries[:-1]:
        return
    with st.expander(view.words("panel.folded", count=made - 1)):  # without a key: drawn again in the same page run
        draw_summaries(view.words, summaries[:-1], left, ways, prefix, brought, pinned)
        if earlier > 0 and view.job is None:
            _render_older_cards_button(view, size_key, min(earlier, MORE_CARDS), prefix)


def _find_covered(view: View) -> int:
    """Returns the last turn that a summary in the context covers."""
    newest = view.store.ledger.summaries(view.session_id, limit=CHUNK) if view.session_id else []
    return max((each.turns[-1] for each in newest if each.status in ("active", "retired")), default=0)


def _count_brought_chars(view: View, shown: Sequence[SummaryRow]) -> dict[int, int]:
    """Returns by summary id how many characters of document passages the summary's turns hold. Reads the turns of a
    summary once and keeps the number in session state."""
    known: dict[int, int] = st.session_state.setdefault(f"brought-{view.session_id}", {})
    for summary in shown:
        if summary.id not in known:
            turns = view.store.turns_between(summary.session_id, summary.turns[0], summary.turns[-1])
            known[summary.id] = sum(brought_chars(turn.steps) for turn in turns)
    return known


def _to_turns(view: View) -> Way:
    """Returns the button that shows the turns of a summary in the conversation."""

    def go(first_turn: int) -> None:
        if view.session is not None:
            jump_to_turn(view.session.id, first_turn, view.session.turn_count)

    return view.words("jump.turns"), "my_location", go


def _render_older_cards_button(view: View, window: str, count: int, prefix: str) -> None:
    def widen() -> None:
        st.session_state[window] = int(st.session_state.get(window, CARDS)) + MORE_CARDS

    label = view.words("panel.more", count=count)
    st.button(label, key=f"{prefix}more-summaries", icon=":material/history:", type="tertiary", on_click=widen)
