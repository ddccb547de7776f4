"""A turn that another program on the same data is answering: what has arrived of it, looked at again until it ends."""

from __future__ import annotations

import streamlit as st

from component import resource
from component.markdown import fixed
from component.page import MARK
from component.view import View
from store import Turn

BEAT = 1.0


def draw_elsewhere(view: View, turn: Turn) -> None:
    """The answer as far as it has come; the page is drawn anew when nobody answers any more, or this program does."""
    with st.container(key=f"answer-{turn.number}"), st.chat_message("assistant", avatar=MARK):

        @st.fragment(run_every=BEAT)
        def look() -> None:
            if view.jobs.of(turn.session_id) or resource.agent().reconcile(turn.session_id):
                st.rerun()
            arrived = view.store.partials.text(turn.session_id, turn.number)
            if arrived:
                st.markdown(fixed(arrived))
            st.markdown(f":shimmer[{view.words('turn.elsewhere')}]")

        look()
