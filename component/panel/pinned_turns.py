"""The turns that every prompt of the conversation holds word for word, with what they cost."""

from __future__ import annotations

from functools import partial

import streamlit as st

from component.chat.jump import jump_to_turn
from component.page.view import View, run_page_action
from component.widget.markdown import escape_markdown, shorten_text
from component.work import resource
from store import TurnRow

QUESTION_CHARS = 60


def draw_pinned_turns(view: View, turns: list[TurnRow], prefix: str = "") -> None:
    """Draws one line for each turn, with buttons that show and unpin it; nothing where none is pinned."""
    words, session = view.words, view.session
    if session is None or not turns:
        return
    tokens = sum(turn.tokens for turn in turns)
    st.markdown(f"## :material/keep: {words('pinned.title')}", anchors=False)
    st.caption(words("pinned.about", count=len(turns), tokens=tokens))
    for turn in turns:
        name = f"{prefix}pinned-{turn.number}"
        with st.container(key=f"statement-pinned-{name}", horizontal=True, wrap=False, gap="small"):
            st.text(f"{turn.number}. {shorten_text(turn.question, QUESTION_CHARS)}", width="stretch")
            st.caption(escape_markdown(words("summarise.tokens", tokens=turn.tokens)), width="content")
            go = (session.id, turn.number, session.turn_count)
            icon, label = ":material/my_location:", words("jump.turn.one", number=turn.number)
            st.button("", key=f"{name}-go", icon=icon, type="tertiary", help=label, on_click=jump_to_turn, args=go)
            unpin = partial(
                run_page_action, partial(resource.find_page_agent().pin_turn, session.id, turn.number, False)
            )
            icon, label = ":material/keep_off:", words("turn.unpin")
            busy = view.job is not None
            st.button("", key=f"{name}-off", icon=icon, type="tertiary", help=label, on_click=unpin, disabled=busy)
