"""A turn that another program on the same data is answering: the page polls the text stored so far until the answer
ends, and can ask for its end."""

from __future__ import annotations

import streamlit as st

from component.page.frame import MARK
from component.page.view import View
from component.widget.markdown import fix_markdown
from component.widget.wait import redraw_when
from component.work import resource
from store import TurnRow

BEAT = 1.0


def draw_elsewhere(view: View, turn: TurnRow) -> None:
    """Draws the text that the other program has stored so far, once a second.

    Runs the page anew when no program answers the turn any more, or when this program does.
    """
    with st.container(key=f"answer-{turn.number}"), st.chat_message("assistant", avatar=MARK):

        def look() -> bool:
            arrived = view.store.partials.text(turn.session_id, turn.number)
            if arrived:
                st.markdown(fix_markdown(arrived))
            st.markdown(f":shimmer[{view.words('turn.elsewhere')}]")
            return view.jobs.of(turn.session_id) is not None or resource.find_page_agent().reconcile(turn.session_id)

        redraw_when(look, BEAT)
        st.button(
            view.words("chat.stop"),
            icon=":material/stop_circle:",
            key="stop",
            shortcut="Esc",
            on_click=resource.find_page_agent().stop,
            args=(turn.session_id,),
        )
