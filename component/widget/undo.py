"""The line with the undo button, shown after the user deleted or moved something."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import streamlit as st

from component.page.view import SESSION, View, try_page_action
from component.widget.markdown import escape_markdown

KEY = "undo"


@dataclass(frozen=True, slots=True)
class Undo:
    """The last change: its description, the function that reverts it, and the conversation that was open afterwards."""

    text: str
    action: Callable[[], object]
    session: str | None


def keep_undo(text: str, action: Callable[[], object]) -> None:
    """Shows the line from the next page run on.

    The line stays until the user undoes the change, does something else, or opens or begins another conversation.
    """
    st.session_state[KEY] = Undo(text, action, st.query_params.get(SESSION))


def forget_undo() -> None:
    """Removes the line."""
    st.session_state.pop(KEY, None)


def draw_undo(view: View) -> None:
    """Draws the line, if there is one."""
    undo: Undo | None = st.session_state.get(KEY)
    if undo is None or undo.session != view.session_id:
        forget_undo()
        st.empty()
        return
    with st.container(key="undo", horizontal=True, vertical_alignment="center", gap="xsmall", wrap=False):
        st.caption(escape_markdown(undo.text), width="stretch")
        st.button(
            view.words("session.undo"), key="undo-last", type="tertiary", on_click=partial(_undo_last_change, undo)
        )


def _undo_last_change(kept: Undo) -> None:
    forget_undo()
    if not try_page_action(kept.action):  # the user can try again
        st.session_state[KEY] = kept
