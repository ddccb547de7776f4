"""Tabs that keep their place: Streamlit opens the first one when they come back, and when their language changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import streamlit as st
from streamlit.elements.lib.mutable_tab_container import TabContainer

from component.catalogue import Words


def draw_tabs(
    words: Words,
    key: str,
    title: str,
    names: Sequence[str],
    on_change: Literal["rerun"] | Callable[..., None] = "rerun",
    args: tuple[Any, ...] = (),
) -> list[TabContainer]:
    """The tabs ``names``, labelled ``<title>.<name>``; the one that was open last is open again."""
    own, kept = f"{key}-{words.language}", f"{key}-open"
    if own not in st.session_state:
        st.session_state[own] = words(f"{title}.{st.session_state.get(kept, names[0])}")
    tabs = st.tabs([words(f"{title}.{name}") for name in names], key=own, on_change=on_change, args=args)
    st.session_state[kept] = next(name for name, tab in zip(names, tabs, strict=True) if tab.open)
    return list(tabs)
