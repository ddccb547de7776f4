"""A region of the page that starts empty whenever its subject changes.

Streamlit leaves the elements of the last page run in place until the current run has ended, and a run that follows an
answer takes as long as the answer: old elements would show through. Moving the region between two places clears it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager

import streamlit as st


@contextmanager
def open_page_region(name: str, holds: Hashable) -> Iterator[None]:
    """Draws the ``with`` block into the region ``name``; clears the region first when ``holds`` has changed."""
    before, side = st.session_state.get(f"stage-{name}", (holds, 0))
    if before != holds:
        side = 1 - side
    st.session_state[f"stage-{name}"] = (holds, side)
    if side:
        st.empty()
    region = st.container(key=f"{name}-{side}")
    if not side:
        st.empty()  # before the block is drawn: until then the old region stands beside the new one
    with region:
        yield
