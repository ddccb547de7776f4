"""What happened elsewhere while this page stood still: an answer in another tab, the end of one in another
conversation, a title that was made. The page is drawn anew when there is something to show, and only then."""

from __future__ import annotations

from typing import Any

import streamlit as st

from component.sidebar import PAGE
from component.view import View
from errors import GieokError, SessionUnknown

BEAT = 3.0


def glance(view: View) -> tuple[Any, ...]:
    """All that the page shows of others' doing, to be compared; empty when the store cannot be read now."""
    own = view.session_id
    try:
        listed = view.store.sessions(PAGE)
        here = view.store.session(own) if own else None
        running = [view.jobs.of(each.id) for each in listed]
        return listed, here, running, view.jobs.of(own), view.jobs.queued(own), view.jobs.refused(own)
    except SessionUnknown:  # erased in another tab
        return (own,)
    except GieokError:
        return ()


def look_out(view: View, drawn: tuple[Any, ...]) -> None:
    """Looks again and again, as long as the page stands still; ``drawn``: the glance that it was drawn after.

    What is being typed is the browser's and stays. Nothing looks while a window is open (``app.py``).
    """

    @st.fragment(run_every=BEAT)
    def look() -> None:
        now = glance(view)
        if now and now != drawn:
            st.rerun()

    look()
