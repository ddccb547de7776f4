"""The window over the page: which window is open, and how it stays open until the user closes it.

Streamlit closes a window that a page run does not draw, and keeps the window's own widgets waiting while a page run
lasts. Therefore this module alone knows which window is open, every page run draws that window again, and no page run
follows work meanwhile (``app.py``, ``component.page.follow``). Nor does work that ends begin a page run then: what is
being typed in the window, and the window with it, would be gone for a moment. It has the window alone drawn anew
(``redraw_open_window``), with a new view.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import streamlit as st

from component.page.view import SESSION, View, build_page_view, build_page_words
from component.widget.streamlit_order import find_fragment, rerun_fragment
from errors import GieokError

OPENED = "window"
FRAGMENT = "window-fragment"
"""In session state: Streamlit's id of the part of the page that is the open window's content."""


@dataclass(slots=True)
class Drawing:
    """The window that is being drawn. ``draw``: draws it for a view; ``leave``: what closing it calls; ``alone``:
    whether the page below it stays as it is."""

    draw: Callable[[View], None]
    leave: Callable[[], None] = lambda: None
    alone: bool = False


_drawing: ContextVar[Drawing | None] = ContextVar("drawing", default=None)


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


def draw_open_window(view: View, draw: Callable[[View], None]) -> None:
    """Draws the open window: ``draw`` calls ``render_page_window``, or closes the window."""
    _draw_marked(Drawing(draw), view)


def redraw_open_window() -> None:
    """Draws the open window alone anew, at once; to be called while a part of the page is drawn by itself."""
    if fragment := st.session_state.get(FRAGMENT):
        rerun_fragment(fragment)


def is_window_being_drawn() -> bool:
    """Returns whether what is drawn now belongs to the open window."""
    return _drawing.get() is not None


def render_page_window(
    title: str,
    content: Callable[[], None],
    *,
    width: Literal["small", "medium", "large"] = "small",
    position: Literal["center", "right"] = "center",
    leave: Callable[[], None] = lambda: None,
) -> None:
    """Draws the open window with ``content``; calls ``leave`` when the user closes the window."""
    drawing = _drawing.get()
    assert drawing is not None
    drawing.leave = leave
    if drawing.alone:
        content()
        return
    current = find_open_window()
    assert current is not None
    close = partial(_close_dismissed_window, st.session_state[OPENED], drawing)

    @st.dialog(title, width=width, position=position, on_dismiss=close)
    def window() -> None:
        st.session_state[FRAGMENT] = find_fragment()
        with st.container(key=f"window-{current[0]}"):
            if drawing.alone:
                _draw_with_new_view(drawing)
            else:
                drawing.alone = True
                content()
        if find_open_window() != current:  # closed from inside, or replaced by another window
            st.rerun()

    window()


def _draw_with_new_view(drawing: Drawing) -> None:
    try:
        view = build_page_view(build_page_words())
    except GieokError:  # the page says it
        st.rerun()
    _draw_marked(drawing, view)


def _draw_marked(drawing: Drawing, view: View) -> None:
    """Draws the window, marked as what is being drawn."""
    mark = _drawing.set(drawing)
    try:
        drawing.draw(view)
    finally:
        _drawing.reset(mark)


def _close_dismissed_window(dismissed: tuple[str, Any, str | None], drawing: Drawing) -> None:
    """Closes the window that the user closed, and none that was opened since: on a busy page Streamlit takes a click
    that follows the closing at once together with it, and the click first."""
    newer = st.session_state.get(OPENED)
    if newer is dismissed:
        close_page_window()
    elif newer is not None and newer[0] == dismissed[0]:  # the same window again: leaving would drop what it shows
        return
    drawing.leave()
