"""Points at a place of the page: opens what hides the place, scrolls to the place, and marks it for three seconds.
Nothing is covered, and the user has nothing to close.

The script runs in the browser, because only the browser knows whether the panel is a drawer and the sidebar is folded.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import streamlit as st

KEY = "pointed"


@dataclass(frozen=True, slots=True)
class PagePlace:
    """A place of the page. ``show``: its CSS selector; ``tab``: index, from 0, of the panel's tab that holds it;
    ``sidebar``: whether the sidebar holds it; ``expander``: selector of a box around it that may be folded."""

    show: str
    tab: int | None = None
    sidebar: bool = False
    expander: str = ""


_component = st.components.v2.component("gieok_point", js=Path(__file__).with_suffix(".js").read_text("utf-8"))


def point_at(place: PagePlace) -> None:
    """Points at ``place`` with the next page run."""
    serial, _ = st.session_state.get(KEY, (0, None))
    st.session_state[KEY] = (serial + 1, place)


def draw_point() -> None:
    """Draws the component that runs the script; it shows nothing by itself."""
    serial, place = st.session_state.get(KEY, (0, None))
    with st.container(key="point"):
        _component(key="point-component", data={"serial": serial, "place": asdict(place) if place else None})
