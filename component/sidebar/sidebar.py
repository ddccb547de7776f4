"""The left side: a new chat, the conversations, the settings that matter while chatting, the model."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from component.page.catalogue import Words
from component.page.help import ask_help
from component.page.login import draw_user
from component.page.view import View, begin_chat, begin_private, show_documents
from component.settings.advice import draw_advice
from component.settings.model_status import draw_model
from component.settings.options import ask_options
from component.settings.own_answer import draw_answer_state
from component.sidebar.bring_in import ask_import, render_import_result
from component.sidebar.rate import draw_rate
from component.sidebar.session_list import draw_sessions
from component.usage.usage_window import ask_usage
from component.widget.undo import draw_undo
from component.world.view import show_worlds


def draw_sidebar(view: View) -> DeltaGenerator:
    """Draws the side; returns the place where the model's state is drawn."""
    words = view.words
    with st.sidebar:
        icon = ":material/edit_square:"
        st.button(
            words("session.create"), key="new-chat", icon=icon, width="stretch", type="primary", on_click=begin_chat
        )
        _draw_pages(words)
        render_import_result(view)
        draw_sessions(view)
        with st.container(key="side-foot", gap="small"):
            draw_undo(view)
            draw_answer_state(view)
            if view.session is None or not view.session.world or view.session.remembers:  # else there are no summaries
                with st.container(key="rate"), st.expander(words("settings.title"), key="settings"):
                    draw_rate(view)
            else:
                st.empty()
            place = _draw_model(view)
            _draw_foot(view)
            draw_user(view)
    return place


def _draw_pages(words: Words) -> None:
    """Draws the ways to what is no ordinary chat, each with its icon over its name."""
    pages = (
        ("new-private", "visibility_off", "private.chip", begin_private),
        ("documents-open", "folder_open", "documents.title", show_documents),
        ("worlds-open", "public", "world.title", show_worlds),
    )
    with st.container(key="side-pages", horizontal=True, gap="xxsmall", wrap=False):
        for key, icon, label, action in pages:
            icon = f":material/{icon}:"
            st.button(words(label), key=key, icon=icon, type="tertiary", width="stretch", on_click=action)


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
