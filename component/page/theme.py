"""The theme switch: light, dark, or as the system. Streamlit has one in its own menu, in English; this one operates it.

Streamlit offers Python no way to set the theme (1.67), so the component presses the entries of Streamlit's menu in the
browser, and the browser stores the choice. The page does not run anew, so typed text is not lost.
"""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from component.page.catalogue import Words

THEMES = ("System", "Light", "Dark")

_component = st.components.v2.component(
    "gieok_theme", js=Path(__file__).with_suffix(".js").read_text("utf-8"), isolate_styles=False
)


def draw_theme(words: Words) -> None:
    """Draws the theme switch."""
    st.caption(words("theme.label"))
    themes = [[name, words(f"theme.{name.lower()}")] for name in THEMES]
    _component(key=f"theme-{words.language}", data={"label": words("theme.label"), "themes": themes})
