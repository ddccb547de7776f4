"""Tabs that stay open: Streamlit opens the first tab when tabs come back, and when their language changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import streamlit as st
from streamlit.elements.lib.mutable_tab_container import TabContainer

from component.page.catalogue import Words


def draw_tabs(
    words: Words,
    key: str,
    title: str,
    names: Sequence[str],
    on_change: Literal["rerun"] | Callable[..., None] = "rerun",
    args: tuple[Any, ...] = (),
) -> list[TabContainer]:
    """Draws the tabs ``names``, labelled ``<title>.<name>``; the tab that was open last is open again."""
    tabs_key, open_key = f"{key}-{words.language}", f"{key}-open"
    if tabs_key not in st.session_state:
        st.session_state[tabs_key] = words(f"{title}.{st.session_state.get(open_key, names[0])}")
    tabs = st.tabs([words(f"{title}.{name}") for name in names], key=tabs_key, on_change=on_change, args=args)
    st.session_state[open_key] = next(name for name, tab in zip(names, tabs, strict=True) if tab.open)
    return list(tabs)
