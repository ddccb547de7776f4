"""The left side: a new chat, the conversations, the settings that matter while chatting, the model."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from component.page.help import ask_help
from component.page.login import draw_user
from component.page.view import View, begin, begin_private, show_documents
from component.settings.advice import draw_advice
from component.settings.model_status import draw_model
from component.settings.options import ask_options
from component.settings.own_answer import draw_answer_state
from component.sidebar.bring_in import ask_import, draw_imported
from component.sidebar.rate import draw_rate
from component.sidebar.session_list import draw_sessions
from component.usage.usage_window import ask_usage
from component.widget.undo import draw_undo
from component.world.view import show_worlds


def draw_sidebar(view: View) -> DeltaGenerator:
    """Draws the side; returns the place where the model's state is drawn."""
    words = view.words
    with st.sidebar:
        with st.container(key="side-head", horizontal=True, gap="xsmall", wrap=False):
            icon = ":material/edit_square:"
            label = words("session.create")
            st.button(label, key="new-chat", icon=icon, width="stretch", type="primary", on_click=begin)
            icon, label = ":material/visibility_off:", words("private.create")
            st.button("", key="new-private", icon=icon, help=label, on_click=begin_private)
            icon, label = ":material/folder_open:", words("documents.title")
            st.button("", key="documents-open", icon=icon, help=label, on_click=show_documents)
            icon, label = ":material/public:", words("world.title")
            st.button("", key="worlds-open", icon=icon, help=label, on_click=show_worlds)
        draw_imported(view)
        draw_sessions(view)
        with st.container(key="side-foot", gap="small"):
            draw_undo(view)
            draw_answer_state(view)
            with st.container(key="rate"), st.expander(words("settings.title"), key="settings"):
                draw_rate(view)
            place = _draw_model(view)
            _draw_foot(view)
            draw_user(view)
    return place


def _draw_model(view: View) -> DeltaGenerator:
    with st.container(key="model", gap="xsmall"):
        place = draw_model(view.words, view.readiness, view.status)
        draw_advice(view)
        return place


def _draw_foot(view: View) -> None:
    """Draws the buttons that open the settings, the help, the usage and the import."""
    words = view.words
    foot = (
        ("options.open", "open-options-window", ask_options),
        ("help.open", "open-help-window", ask_help),
        ("usage.open", "open-usage", ask_usage),
        ("session.import.open", "import", ask_import),
    )
    with st.container(key="foot", horizontal=True, horizontal_alignment="distribute", gap="xsmall", wrap=True):
        for label, key, action in foot:
            st.button(words(label), key=key, type="tertiary", on_click=action)
