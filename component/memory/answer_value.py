"""The chips below an answer that shows something of the memory: each opens the line that it stands in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import streamlit as st

from component.memory.known import ask_known
from component.memory.memory_change import find_memory_owner
from component.page.view import View
from component.widget.markdown import escape_markdown, shorten_text
from errors import GieokError
from graph.context.use import ShownValue, find_shown_values, has_memory
from store import TurnRow

MOST, LABEL_CHARS = 3, 48
"""How many chips stand below an answer, and how long each is; the others are folded."""


def read_given_texts(view: View, turns: Sequence[TurnRow]) -> Mapping[str, str]:
    """Returns the texts of memory that the prompts of this conversation got, by mark; none where no prompt of these
    turns got any, where memory is off or cannot be read."""
    if not any(turn.answer and has_memory(turn.report) for turn in turns):
        return {}
    mine = find_memory_owner(view)
    try:
        return mine.memory.reader.read_given(mine.tenant, mine.session) if mine is not None and mine.session else {}
    except GieokError:
        return {}


def draw_memory_values(view: View, turn: TurnRow, given: Mapping[str, str]) -> None:
    """Draws a chip for each line of memory whose value the answer shows."""
    if not given or not turn.answer:
        return
    shown = find_shown_values(turn.report, given, turn.question, turn.answer)
    if not shown:
        return
    with st.container(key=f"from-memory-{turn.number}", horizontal=True, vertical_alignment="center", gap="xsmall"):
        st.caption(view.words("memory.shown"), width="content")
        for place, value in enumerate(shown[:MOST]):
            _draw_chip(turn, place, value)
        if rest := shown[MOST:]:
            with st.popover(view.words("memory.shown.more", count=len(rest)), type="tertiary"):
                for place, value in enumerate(rest, MOST):
                    _draw_chip(turn, place, value)


def _draw_chip(turn: TurnRow, place: int, shown: ShownValue) -> None:
    label = escape_markdown(shorten_text(shown.line, LABEL_CHARS))
    open_line = partial(ask_known, shown.value)
    st.button(label, key=f"from-memory-{turn.number}-{place}", type="tertiary", on_click=open_line)
