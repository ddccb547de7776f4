"""The turns that every prompt of the conversation holds word for word, with what they cost."""

from __future__ import annotations

from functools import partial

import streamlit as st

from component.chat.jump import leap
from component.page.view import View, trying
from component.widget.markdown import plain, short
from component.work import resource
from store import Turn

QUESTION_CHARS = 60


def draw_pinned_turns(view: View, turns: list[Turn], prefix: str = "") -> None:
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
            st.text(f"{turn.number}. {short(turn.question, QUESTION_CHARS)}", width="stretch")
            st.caption(plain(words("summarise.tokens", tokens=turn.tokens)), width="content")
            go = (session.id, turn.number, session.turn_count)
            icon, label = ":material/my_location:", words("jump.turn.one", number=turn.number)
            st.button("", key=f"{name}-go", icon=icon, type="tertiary", help=label, on_click=leap, args=go)
            unpin = partial(trying, partial(resource.here().pin_turn, session.id, turn.number, False))
            icon, label = ":material/keep_off:", words("turn.unpin")
            busy = view.job is not None
            st.button("", key=f"{name}-off", icon=icon, type="tertiary", help=label, on_click=unpin, disabled=busy)
