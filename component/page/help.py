"""The help window: buttons that lead to the places of the page, and a table of the keys."""

from __future__ import annotations

from functools import partial

import streamlit as st

from component.page import window
from component.page.point import PagePlace, point_at
from component.page.view import View, show_documents

NAME = "help"
KEYS = (
    ("enter", "Enter"),
    ("newline", "Shift + Enter"),
    ("stop", "Esc"),
    ("edit", "↑"),
    ("palette", "Ctrl / ⌘ + K"),
    ("rows", "↑ ↓ · F2 · Delete"),
)
PANEL = ":is(.st-key-panel, .st-key-window-drawer)"
PLACES: dict[str, PagePlace] = {
    "summaries": PagePlace(f'{PANEL} [class*="panel-history"]', tab=0),
    "prompt": PagePlace(f'{PANEL} [class*="panel-prompt"]', tab=0),
    "memory": PagePlace(f'{PANEL} [role="tabpanel"]:not([inert])', tab=1),
    "context": PagePlace(f'{PANEL} [role="tabpanel"]:not([inert])', tab=2),
    "trace": PagePlace(f'{PANEL} [role="tabpanel"]:not([inert])', tab=3),
    "actions": PagePlace(
        '[data-testid="stLayoutWrapper"]:nth-last-child(1 of :has(> [class*="st-key-answer-"])) '
        '[class*="st-key-actions-"]'
    ),
    "rate": PagePlace(".st-key-rate", sidebar=True, expander=".st-key-rate"),
    "list": PagePlace(".gieok-list .bar", sidebar=True),
}
AFTER_AN_ANSWER = ("prompt", "actions")
DOCUMENTS = "documents"
OF_CONVERSATIONS = (*(name for name, place in PLACES.items() if place.tab is not None), "rate")
"""Places that a story has not."""


def ask_help() -> None:
    """Opens the help window with the next page run."""
    window.open_page_window(NAME)


def draw_help(view: View, about: object = None) -> None:
    """Draws the help window."""
    window.render_page_window(view.words("help.title"), lambda: _render_help_content(view), width="medium")


def _render_help_content(view: View) -> None:
    words = view.words
    st.markdown(words("help.about"))
    st.markdown(f"**{words('help.places')}**")
    with st.container(key="places", gap="xsmall"):
        for name in (*PLACES, DOCUMENTS):
            if not (view.is_story and name in OF_CONVERSATIONS):
                _draw_place(view, name)
    st.markdown(f"**{words('help.keys')}**")
    rows = "".join(
        f"<tr><th scope='row'><kbd>{key}</kbd></th><td>{words(f'help.key.{name}')}</td></tr>" for name, key in KEYS
    )
    st.html(f'<table class="gieok-settings"><tbody>{rows}</tbody></table>')


def _draw_place(view: View, name: str) -> None:
    words = view.words
    later = name in AFTER_AN_ANSWER and not (view.session and view.session.turn_count)
    with st.container(key=f"place-{name}", horizontal=True, gap="small", vertical_alignment="center", wrap=False):
        st.button(
            words(f"help.place.{name}"),
            key=f"go-to-{name}",
            type="tertiary",
            icon=":material/my_location:",
            disabled=later,
            on_click=partial(_go_to_place, name),
        )
        st.caption(words(f"help.place.{name}.about") + (f" {words('help.later')}" if later else ""), width="stretch")


def _go_to_place(name: str) -> None:
    window.close_page_window()
    show_documents(name == DOCUMENTS)
    if name != DOCUMENTS:
        point_at(PLACES[name])
