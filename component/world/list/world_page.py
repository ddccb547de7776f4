"""The page of the worlds: their list, and the ways to further ones. A story is played on the page of conversations."""

from __future__ import annotations

import streamlit as st

from component.page.view import View, take_page_error
from component.widget.failure import show_error_toast
from component.world.list.chooser import draw_chooser
from component.world.view import open_old_link


def draw_worlds(view: View) -> None:
    """Draws the page."""
    open_old_link()
    error = take_page_error()
    if error is not None:
        show_error_toast(view.words, error)
    with st.container(key="worlds", gap="small"):
        draw_chooser(view, error)
