"""The window over the page: which one is open, and that it stays open until it is closed.

Streamlit closes a window that a run of the page does not draw, and keeps a window's own widgets waiting while such a
run goes on. So one place knows which window is open, every run draws it again, and nothing is followed meanwhile
(``app.py``, ``component.follow``).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import streamlit as st

from component.view import SESSION

OPENED = "window"


def ask(name: str, about: Any = None) -> None:
    """Opens a window in the next run, in the place of another one; ``about``: what it is to show."""
    st.session_state[OPENED] = (name, about, st.query_params.get(SESSION))


def opened() -> tuple[str, Any] | None:
    """The window that is open, and what it shows; none has outlived a move to another conversation."""
    name, about, session = st.session_state.get(OPENED, ("", None, None))
    return (name, about) if name and session == st.query_params.get(SESSION) else None


def shut() -> None:
    """Closes the window with the next run; inside one, that run comes by itself."""
    st.session_state.pop(OPENED, None)


def draw(
    title: str,
    content: Callable[[], None],
    *,
    width: Literal["small", "medium", "large"] = "small",
    position: Literal["center", "right"] = "center",
    leave: Callable[[], None] = lambda: None,
) -> None:
    """Draws the window that is open; ``leave`` is called when the user closes it."""
    now = opened()
    assert now is not None

    @st.dialog(title, width=width, position=position, on_dismiss=partial(_dismissed, leave))
    def window() -> None:
        with st.container(key=f"window-{now[0]}"):
            content()
        if opened() != now:  # closed from inside, or another one was asked for
            st.rerun()

    window()


def _dismissed(leave: Callable[[], None]) -> None:
    shut()
    leave()
