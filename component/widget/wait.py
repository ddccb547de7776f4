"""Waiting for something without keeping the page busy: a fragment looks every moment, and the page is drawn anew."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from component.work.side_call import SideCall

BEAT = 0.4


def redraw_when(look: Callable[[], bool], beat: float | None) -> None:
    """Calls ``look``, which may draw, now and every ``beat`` seconds, and draws the page anew once it returns True.

    Never while the page itself is being drawn: that would end the run before the buttons further down are reached, and
    a press of one of them would be lost. ``look`` then says so again in the next beat. ``beat``: None to draw once.
    """
    if beat is None:
        look()  # no fragment: one that is drawn again without a beat would go on with that of before
        return
    draws_page = True

    @st.fragment(run_every=beat)
    def part() -> None:
        if look() and not draws_page:
            st.rerun()

    try:
        part()
    finally:
        draws_page = False


def redraw_when_done(side_call: SideCall) -> None:
    """Draws the page anew once the side call has ended; a run that waited would block the window's own widgets."""
    redraw_when(lambda: side_call.done, BEAT)
