"""The help window: the keys, and the way back to the tour of the panel."""

from __future__ import annotations

import streamlit as st

from component.tour import ask_tour
from component.view import View

OPENED = "help-opened"
KEYS = (
    ("enter", "Enter"),
    ("newline", "Shift + Enter"),
    ("stop", "Esc"),
    ("edit", "↑"),
    ("search", "Ctrl / ⌘ + K"),
)


def ask_help() -> None:
    """Opens the window in the next run."""
    st.session_state[OPENED] = True


def draw_help(view: View) -> None:
    """The window, when it was asked for."""
    if st.session_state.pop(OPENED, False):
        st.dialog(view.words("help.title"))(lambda: _draw(view))()


def _draw(view: View) -> None:
    words = view.words
    st.markdown(words("help.about"))
    if st.button(words("help.tour"), key="tour-again", icon=":material/tour:"):
        ask_tour()
        st.rerun()
    st.markdown(f"**{words('help.keys')}**")
    rows = "".join(
        f"<tr><th scope='row'><kbd>{key}</kbd></th><td>{words(f'help.key.{name}')}</td></tr>" for name, key in KEYS
    )
    st.html(f'<table class="gieok-settings"><tbody>{rows}</tbody></table>')
