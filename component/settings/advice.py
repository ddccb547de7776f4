"""The advice that the user of a small model gets once: a larger model answers much better.

A file in the data folder records that the advice was given: on this machine, for whoever uses it.
"""

from __future__ import annotations

import contextlib

import streamlit as st

import private
import settings
from component.page.view import View
from component.settings.options import ask_options
from component.work.user import is_admin, may_choose_model

TOLD = "advice-told"


def draw_advice(view: View) -> None:
    """Draws the advice with its two buttons, unless it was given before or the settings ask for a small model."""
    words, models, may_choose = view.words, view.status.models, may_choose_model()
    if (
        models is None
        or models.profile.name != "small"
        or models.why == "setting"
        or not is_admin()
        or _is_advice_given()
    ):
        return
    with st.container(key="advice", border=True, gap="xsmall"):
        st.caption(words("advice.larger" if may_choose else "advice.larger.fixed"))
        with st.container(horizontal=True, gap="xsmall"):
            if may_choose:
                st.button(words("advice.look"), key="advice-look", type="tertiary", on_click=_open_advised_options)
            st.button(words("advice.dismiss"), key="advice-dismiss", type="tertiary", on_click=_record_advice)


def _open_advised_options() -> None:
    _record_advice()
    ask_options()


def _is_advice_given() -> bool:
    return bool(st.session_state.get(TOLD)) or (settings.load_current_settings().data_dir / TOLD).exists()


def _record_advice() -> None:
    """Records that the advice was given; only for this page if the data folder cannot be written."""
    st.session_state[TOLD] = True
    with contextlib.suppress(OSError):
        private.make_file(settings.load_current_settings().data_dir / TOLD)
