"""The page around everything: its title, its style sheet, and what a screen reader is told."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import streamlit as st

from component.catalogue import Words

_FOLDER = Path(__file__).parent
MARK = str(_FOLDER / "mark.svg")


def mark_address() -> str:
    """The mark as an address of its own."""
    return "data:image/svg+xml;base64," + b64encode(Path(MARK).read_bytes()).decode()


def open_page(words: Words) -> None:
    """Sets the page up; before anything else is drawn."""
    st.set_page_config(page_title=words("app.title"), page_icon=MARK, layout="wide", initial_sidebar_state="auto")
    st.html(_FOLDER / "style.css")
    st.logo(MARK, size="large")
