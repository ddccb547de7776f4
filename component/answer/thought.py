"""What the model thought before its answer, folded above it."""

from __future__ import annotations

import streamlit as st

from component.page.catalogue import Words
from component.widget.markdown import escape_markdown, fix_markdown
from store import TurnRow
from text.cut import cut_graphemes_before

GROWING_CHARS = 1_500
"""Characters of growing thoughts that are sent with each look: their end, because few unfold them meanwhile."""


def draw_thought(words: Words, turn: TurnRow) -> None:
    """Draws the thoughts of a turn that has ended; an empty element where there were none.

    This element takes the place of the growing answer (``component.answer.live``). A container would take over what the
    growing answer holds, and the page would show that until the page run ends.
    """
    reasoning = turn.reasoning or {}
    if text := str(reasoning.get("text") or "").strip():
        _draw_box(words, text, float(reasoning.get("seconds") or 0.0), is_over=True)
    else:
        st.empty()


def draw_growing_thought(words: Words, text: str, seconds: float, *, is_over: bool) -> None:
    """Draws the thoughts of a running turn. ``is_over``: the answer, or a step, has begun."""
    if not is_over and len(text) > GROWING_CHARS:
        text = f"…{cut_graphemes_before(text, GROWING_CHARS)}"
    if text.strip():
        _draw_box(words, text.strip(), seconds, is_over=is_over)


def _draw_box(words: Words, text: str, seconds: float, *, is_over: bool) -> None:
    name = escape_markdown(words("thought.over" if is_over else "live.thinking_for", seconds=round(seconds)))
    label = name if is_over else f":shimmer[{name}]"
    with st.status(label, state="complete" if is_over else "running", type="step"):
        st.markdown(fix_markdown(text))


__all__ = ["draw_growing_thought", "draw_thought"]
