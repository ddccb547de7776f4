"""The frame of the page: its title, its icon, its style sheet and its logo."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import streamlit as st

from component.page.catalogue import Words

_FOLDER = Path(__file__).parent
MARK = str(_FOLDER / "mark.svg")


def mark_address() -> str:
    """Returns the mark as a ``data:`` address."""
    return "data:image/svg+xml;base64," + b64encode(Path(MARK).read_bytes()).decode()


def open_page(words: Words) -> None:
    """Sets the page up; must run before anything else is drawn."""
    st.set_page_config(page_title=words("app.title"), page_icon=MARK, layout="wide", initial_sidebar_state="auto")
    st.html(_FOLDER / "style.css")
    st.logo(MARK, size="large")
