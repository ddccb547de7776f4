"""The settings window: which model answers, how the page looks, and what the prompt may hold."""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st

from component.page import window
from component.page.catalogue import LANGUAGES, Words
from component.page.theme import draw_theme
from component.page.view import LANGUAGE, View, language
from component.settings.budget import draw_budgets
from component.settings.picker import draw_picker
from component.settings.servers import draw_servers
from component.widget.tabs import draw_tabs

NAME = "options"


def ask_options() -> None:
    """Opens the window."""
    window.ask(NAME)


def draw_options(view: View, about: object = None) -> None:
    """Draws the window."""
    window.draw(view.words("options.title"), lambda: _draw(view), width="medium")


def _draw(view: View) -> None:
    words = view.words
    tabs = ("models", "look", "context", "servers")
    models, look, context, servers = draw_tabs(words, "options", "options.tab", tabs)
    with models:
        draw_picker(view)
    with look:
        draw_language(words, "options-language")
        if language() != words.language:
            st.rerun()
        draw_theme(words)
    with context:
        draw_budgets(view)
    with servers:
        draw_servers(view)


def draw_language(words: Words, key: str, **form: Any) -> None:
    """Draws the switch of the page's language; the chosen language then stands in the page's address."""
    st.session_state[key] = words.language
    st.segmented_control(
        words("language.label"),
        LANGUAGES,
        format_func=lambda name: {"ko": "한국어", "en": "English"}[name],
        key=key,
        required=True,
        on_change=partial(_set_language, key),
        **form,
    )


def _set_language(key: str) -> None:
    st.query_params[LANGUAGE] = st.session_state[key]
