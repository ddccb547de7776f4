"""A region that starts empty whenever it is to hold something else than before.

Streamlit leaves the elements of the run before in place until a run has ended, and a run that follows an answer takes
as long as the answer: what stood there would show through. Moving the region to the other of two places clears it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager

import streamlit as st


@contextmanager
def stage(name: str, holds: Hashable) -> Iterator[None]:
    """Draws into the region ``name``; a change of ``holds`` clears it first."""
    before, side = st.session_state.get(f"stage-{name}", (holds, 0))
    if before != holds:
        side = 1 - side
    st.session_state[f"stage-{name}"] = (holds, side)
    if side:
        st.empty()
    region = st.container(key=f"{name}-{side}")
    if not side:
        st.empty()  # now, not after what is drawn: until then the old region would stand beside the new one
    with region:
        yield
