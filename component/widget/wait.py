"""Waiting for something without keeping the page busy: a fragment looks every moment, and the page is drawn anew."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from component.page import window
from component.work.side_call import SideCall

BEAT = 0.4


def redraw_when(look: Callable[[], bool], beat: float | None) -> None:
    """Calls ``look``, which may draw, now and every ``beat`` seconds, and draws the page anew once it returns True;
    within a window that window alone.

    Never while the page itself is being drawn: that would end the run before the buttons further down are reached, and
    a press of one of them would be lost. ``look`` then says so again in the next beat. Nor the page while a window is
    open over it: the browser would drop what is being typed there. ``beat``: None to draw once.
    """
    if beat is None:
        look()  # no fragment: one that is drawn again without a beat would go on with that of before
        return
    _look_every_beat(look, window.redraw_open_window if window.is_window_being_drawn() else _redraw_page, beat)


def _redraw_page() -> None:
    if window.find_open_window() is None:
        st.rerun()


def redraw_window_at_change(read: Callable[[], object], drawn: object, beat: float) -> None:
    """Draws the open window alone anew whenever ``read``, which is called every ``beat`` seconds, returns something
    else than before; ``drawn``: what it returned when the page run began. For what runs below the window."""

    def redraw() -> None:
        nonlocal drawn
        drawn = read()
        window.redraw_open_window()

    _look_every_beat(lambda: read() != drawn, redraw, beat)


def _look_every_beat(look: Callable[[], bool], redraw: Callable[[], None], beat: float) -> None:
    """Calls ``look`` now and every ``beat`` seconds, and ``redraw`` when it returns True, unless the page itself is
    being drawn."""
    draws_page = True

    @st.fragment(run_every=beat)
    def part() -> None:
        if look() and not draws_page:
            redraw()

    try:
        part()
    finally:
        draws_page = False


def redraw_when_done(side_call: SideCall) -> None:
    """Draws the page anew once the side call has ended; a run that waited would block the window's own widgets."""
    redraw_when(lambda: side_call.done, BEAT)
