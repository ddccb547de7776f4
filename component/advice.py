"""What the user of a small model is told once: that a larger one answers much better.

That it was told is kept in the data folder: on this machine, for whoever uses it.
"""

from __future__ import annotations

import contextlib

import streamlit as st

import settings
from component.options import ask_options
from component.view import View

TOLD = "advice-told"


def draw_advice(view: View) -> None:
    """The advice with its two buttons, unless it was told, or somebody wants a small model."""
    words, models, chosen = view.words, view.status.models, settings.current()
    if models is None or models.profile.name != "small" or models.why == "setting" or _told():
        return
    with st.container(key="advice", border=True, gap="xsmall"):
        st.caption(words("advice.larger" if chosen.model_choice else "advice.larger.fixed"))
        with st.container(horizontal=True, gap="xsmall"):
            if chosen.model_choice:
                st.button(words("advice.look"), key="advice-look", type="tertiary", on_click=_look)
            st.button(words("advice.dismiss"), key="advice-dismiss", type="tertiary", on_click=_remember)


def _look() -> None:
    _remember()
    ask_options()


def _told() -> bool:
    return bool(st.session_state.get(TOLD)) or (settings.current().data_dir / TOLD).exists()


def _remember() -> None:
    """For this page at least, where the folder cannot be written."""
    st.session_state[TOLD] = True
    with contextlib.suppress(OSError):
        (settings.current().data_dir / TOLD).touch()
