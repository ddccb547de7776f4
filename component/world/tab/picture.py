"""A graph as a picture in the colours of the page."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from component.world.view import WorldView
from world.story.state import StoryState


def draw_picture(shown: WorldView, graph: Callable[[StoryState, bool], str], alt: str) -> None:
    """Draws a graph of the state. ``alt``: what the picture shows, for screen readers."""
    dark = st.context.theme.type == "dark"
    st.graphviz_chart(graph(shown.state, dark), width="stretch", alt=alt)
