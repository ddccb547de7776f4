"""Waiting for something without keeping the page busy: a fragment looks every moment, and the page is drawn anew."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue

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


def send_fragments_whole() -> None:
    """Lets the browser hear of each fragment's end, also when another fragment begins within the same 10 ms.

    Streamlit 1.67 then tells it that the first one was broken off, so that a button which that one no longer draws
    stays on the page until the window is closed. A beat that waits behind a click begins just so. With this the
    browser gets the messages of both in order, as if it had fetched those of the first one in time.
    Source: ``ForwardMsgQueue.clear``; the reports are streamlit/streamlit#16708 and #9389.
    """
    ForwardMsgQueue.clear = _clear_queue  # type: ignore[assignment,method-assign]


_clear_all = ForwardMsgQueue.clear


def _clear_queue(
    queue: ForwardMsgQueue, retain_lifecycle_msgs: bool = False, fragment_ids_this_run: list[str] | None = None
) -> None:
    """Streamlit's own ``clear``, but a fragment that begins removes nothing that waits to be sent."""
    if fragment_ids_this_run is None:
        _clear_all(queue, retain_lifecycle_msgs)
    else:
        queue._delta_index_map = {}  # else what it draws would take the place of messages from before its beginning
