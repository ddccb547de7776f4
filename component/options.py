"""The settings window: which model answers, how the page looks, and what the prompt may hold."""

from __future__ import annotations

import streamlit as st

from component import window
from component.budget import draw_budgets
from component.catalogue import LANGUAGES
from component.picker import draw_picker
from component.theme import draw_theme
from component.view import LANGUAGE, View

NAME = "options"


def ask_options() -> None:
    """Opens the window."""
    window.ask(NAME)


def draw_options(view: View, about: object = None) -> None:
    """The window."""
    window.draw(view.words("options.title"), lambda: _draw(view), width="medium")


def _draw(view: View) -> None:
    words = view.words
    models, look, context = st.tabs([words(f"options.tab.{name}") for name in ("models", "look", "context")])
    with models:
        draw_picker(view)
    with look:
        _draw_language(view)
        draw_theme(words)
    with context:
        draw_budgets(view)


def _draw_language(view: View) -> None:
    chosen = st.segmented_control(
        view.words("language.label"),
        LANGUAGES,
        default=view.words.language,
        format_func=lambda name: {"ko": "한국어", "en": "English"}[name],
        key=f"options-language-{view.words.language}",
        required=True,
    )
    if chosen != view.words.language:
        st.query_params[LANGUAGE] = chosen
        st.rerun()
