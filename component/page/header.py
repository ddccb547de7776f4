"""The header: app name, title of the conversation, the model, and on a phone the button for the panel."""

from __future__ import annotations

from typing import Literal

import streamlit as st

from component.page import window
from component.page.view import View, on_documents
from component.panel.panel import DRAWER
from component.settings.model_switch import ask_switch
from component.widget.markdown import escape_markdown, shorten_text
from component.work.readiness import State
from component.world.view import on_worlds
from model.embedded.catalogue import show_name

Sign = State | Literal["away"]
"""What the badge of the model says: its state, or that it has not answered the last call."""


def draw_header(view: View) -> None:
    """Draws the header."""
    words = view.words
    title = view.session.title if view.session and view.session.title else words("session.new")
    elsewhere = on_documents() or on_worlds()
    if elsewhere:
        title = words("documents.title" if on_documents() else "world.title")
    with st.container(key="header", horizontal=True, vertical_alignment="center", gap="small", wrap=False):
        st.markdown(f"# {words('app.name')}", width="content", anchors=False)
        private = view.is_private and not elsewhere
        st.markdown("&nbsp;" if private else f":gray[{escape_markdown(shorten_text(title, 60))}]", width="stretch")
        if private:
            with st.container(key="chip-private", width="content"):
                st.badge(words("private.chip"), color="violet", icon=":material/visibility_off:")
        _draw_model_button(view)
        if not elsewhere:
            _draw_opener(words("world.panel" if view.is_story else "panel.open"), DRAWER)
        else:
            st.empty()  # takes the button's place while files are being read


def _draw_model_button(view: View) -> None:
    """Draws the button with the name and the state of the model, which opens the choice of another one."""
    words, models = view.words, view.status.models
    state: Sign = "away" if view.status.is_away else view.status.state
    label = show_name(models.name) if models is not None and state == "ready" else words(f"model.{state}")
    with st.container(key=f"chip-{state}", width="content"):
        st.button(
            escape_markdown(shorten_text(label, 40)),
            key="model-open",
            type="tertiary",
            icon=_choose_sign_icon(state),  # in the label a screen reader would read its name; style.css colours it
            help=words("chat_model.open", state=words(f"model.{state}")),
            on_click=ask_switch,
        )


def _draw_opener(label: str, name: str) -> None:
    """Draws the button that opens the panel as a drawer; style.css hides it where the panel stands beside."""
    icon = ":material/right_panel_open:"
    with st.container(key="open-panel", width="content"):
        st.button(label, key="open-panel-button", icon=icon, on_click=window.open_page_window, args=(name,))


def _choose_sign_icon(state: Sign) -> str:
    icons = {"ready": ":material/check_circle:", "failed": ":material/error:", "away": ":material/error:"}
    return icons.get(state, ":material/hourglass_top:")
