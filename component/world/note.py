"""What is to be told of the last answer of a story: fields that were not taken, and what made its request dearer."""

from __future__ import annotations

import streamlit as st

from component.widget.markdown import escape_markdown
from component.world.receipt import describe_cache_hindrance
from component.world.view import WorldView


def draw_notes(shown: WorldView) -> None:
    """Draws them below the answer."""
    words, node = shown.view.words, shown.node
    if node is None:
        return
    if note := describe_cache_hindrance(words, node):
        st.caption(f":material/info: {escape_markdown(note)}")
    if node.refusals:
        with st.expander(words("world.play.refused", count=len(node.refusals)), icon=":material/rule:"):
            st.markdown("\n".join(f"- {escape_markdown(refusal)}" for refusal in node.refusals))
