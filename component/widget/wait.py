"""Waiting for a side call without keeping the page busy."""

from __future__ import annotations

import streamlit as st

from component.work.side_call import SideCall

BEAT = 0.4


def wait(side_call: SideCall) -> None:
    """Draws the page anew once the side call has ended. A fragment polls for this: a run that waited would block the
    window's own widgets."""

    @st.fragment(run_every=BEAT)
    def look() -> None:
        if side_call.done:
            st.rerun()

    look()
