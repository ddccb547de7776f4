"""Where a message is typed; while an answer runs it can be stopped, and a further message waits its turn."""

from __future__ import annotations

import streamlit as st

from component.view import DRAFT, View


def draw_composer(view: View) -> None:
    """The input and, beside it, the stop button (Esc)."""
    words, job = view.words, view.job
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="composer"):
        st.chat_input(words("chat.ask"), key=DRAFT, on_submit=_submit, args=(view,))
        if job:
            st.button(
                words("chat.stop"),
                icon=":material/stop_circle:",
                key="stop",
                shortcut="Esc",
                on_click=job.stop.set,
                disabled=job.stop.is_set(),
            )


def _submit(view: View) -> None:
    text = st.session_state[DRAFT]
    if text:
        view.send(str(text))
