"""The help window: the keys, and the way back to the tour of the panel."""

from __future__ import annotations

import streamlit as st

from component import window
from component.tour import ask_tour
from component.view import View

NAME = "help"
KEYS = (
    ("enter", "Enter"),
    ("newline", "Shift + Enter"),
    ("stop", "Esc"),
    ("edit", "↑"),
    ("search", "Ctrl / ⌘ + K"),
)


def ask_help() -> None:
    """Opens the window."""
    window.ask(NAME)


def draw_help(view: View, about: object = None) -> None:
    """The window."""
    window.draw(view.words("help.title"), lambda: _draw(view))


def _draw(view: View) -> None:
    words = view.words
    st.markdown(words("help.about"))
    if st.button(words("help.tour"), key="tour-again", icon=":material/tour:"):
        ask_tour()
        window.shut()
    st.markdown(f"**{words('help.keys')}**")
    rows = "".join(
        f"<tr><th scope='row'><kbd>{key}</kbd></th><td>{words(f'help.key.{name}')}</td></tr>" for name, key in KEYS
    )
    st.html(f'<table class="gieok-settings"><tbody>{rows}</tbody></table>')
