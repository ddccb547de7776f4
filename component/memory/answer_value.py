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
from graph.context.use import ShownValue, find_shown_values, list_memory_marks
from store import TurnRow

MOST, LABEL_CHARS = 3, 48
"""How many chips stand below an answer, and how long each is; the others are folded."""


def read_given_texts(view: View, turns: Sequence[TurnRow]) -> Mapping[str, str]:
    """Returns the texts of memory that the prompts of these turns got, by mark; none where memory is off or cannot be
    read."""
    marks = {mark for turn in turns if turn.answer for mark in list_memory_marks(turn.report)}
    mine = find_memory_owner(view) if marks else None
    if mine is None or not mine.session:
        return {}
    try:
        return mine.memory.reader.read_given(mine.tenant, mine.session, marks)
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
