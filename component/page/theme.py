"""The theme: light, dark, or as the system. Streamlit has a switch in its own menu, in English; this one operates it.

Streamlit offers Python no way to set the theme (1.67), so the component presses the entries of Streamlit's menu in the
browser. The store keeps the choice for the user, and every browser of the user takes it over.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import streamlit as st

from component.page.catalogue import Words
from component.page.view import run_page_action
from component.settings.own_setting import THEME, keep_own, read_own

THEMES = ("System", "Light", "Dark")

_component = st.components.v2.component(
    "gieok_theme", js=Path(__file__).with_suffix(".js").read_text("utf-8"), isolate_styles=False
)


def draw_theme(words: Words) -> None:
    """Draws the theme switch."""
    st.markdown(words("theme.label"))
    themes = [[name, words(f"theme.{name.lower()}")] for name in THEMES]
    key = f"theme-{words.language}"
    data = {"label": words("theme.label"), "themes": themes, "apply": ""}
    _component(key=key, data=data, on_theme_change=partial(_keep_theme, key))


def apply_theme() -> None:
    """Has the browser show the user's theme; draws nothing that is seen."""
    with st.container(key="theme-kept"):
        data: dict[str, object] = {"themes": [], "apply": read_own(THEME) or ""}
        _component(key="theme-kept-component", data=data, on_theme_change=lambda: None)


def _keep_theme(key: str) -> None:
    chosen = st.session_state[key].theme
    if chosen in THEMES:
        run_page_action(partial(keep_own, THEME, chosen))
