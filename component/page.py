"""The page around everything: its title, its style sheet, and what a screen reader is told."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from component.catalogue import Words

_FOLDER = Path(__file__).parent
MARK = str(_FOLDER / "mark.svg")


def open_page(words: Words) -> None:
    """Sets the page up; before anything else is drawn."""
    st.set_page_config(page_title=words("app.title"), page_icon=MARK, layout="wide", initial_sidebar_state="auto")
    st.html(_FOLDER / "style.css")
    st.logo(MARK, size="large")
