"""The window over the page: which window is open, and how it stays open until the user closes it.

Streamlit closes a window that a page run does not draw, and keeps the window's own widgets waiting while a page run
lasts. Therefore this module alone knows which window is open, every page run draws that window again, and no page run
follows work meanwhile (``app.py``, ``component.page.follow``).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import streamlit as st

from component.page.view import SESSION

OPENED = "window"


def open_page_window(name: str, about: Any = None) -> None:
    """Opens a window with the next page run, instead of the open one; ``about``: the subject of the window."""
    st.session_state[OPENED] = (name, about, st.query_params.get(SESSION))


def find_open_window() -> tuple[str, Any] | None:
    """Returns name and subject of the open window, or None; a move to another conversation closes a window."""
    name, about, session = st.session_state.get(OPENED, ("", None, None))
    return (name, about) if name and session == st.query_params.get(SESSION) else None


def close_page_window() -> None:
    """Closes the window with the next page run; a call from inside the window starts that run."""
    st.session_state.pop(OPENED, None)


def render_page_window(
    title: str,
    content: Callable[[], None],
    *,
    width: Literal["small", "medium", "large"] = "small",
    position: Literal["center", "right"] = "center",
    leave: Callable[[], None] = lambda: None,
) -> None:
    """Draws the open window with ``content``; calls ``leave`` when the user closes the window."""
    current = find_open_window()
    assert current is not None
    close = partial(_close_dismissed_window, st.session_state[OPENED], leave)

    @st.dialog(title, width=width, position=position, on_dismiss=close)
    def window() -> None:
        with st.container(key=f"window-{current[0]}"):
            content()
        if find_open_window() != current:  # closed from inside, or replaced by another window
            st.rerun()

    window()


def _close_dismissed_window(dismissed: tuple[str, Any, str | None], leave: Callable[[], None]) -> None:
    """Closes the window that the user closed, and none that was opened since: on a busy page Streamlit takes a click
    that follows the closing at once together with it, and the click first."""
    newer = st.session_state.get(OPENED)
    if newer is dismissed:
        close_page_window()
    elif newer is not None and newer[0] == dismissed[0]:  # the same window again: leaving would drop what it shows
        return
    leave()
