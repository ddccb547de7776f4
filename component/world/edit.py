"""The message of the last turn as a draft: sending it plays the turn anew, the old version stays."""

from __future__ import annotations

from functools import partial

import streamlit as st

from component.page.view import trying
from component.world.playing import play
from component.world.view import WorldView
from store.world.record import Node

EDITING = "world-editing"


def editing(node: Node) -> bool:
    """Returns whether the user is changing the message of this turn."""
    return bool(st.session_state.get(EDITING) == node.id)


def edit(node: Node) -> None:
    """Opens the draft."""
    st.session_state[EDITING] = node.id


def draw_editor(shown: WorldView, node: Node) -> None:
    """Draws the draft in the place of the message."""
    words, key = shown.view.words, f"world-draft-{node.id}"
    with st.container(border=True, key=f"edit-w{node.id}-box"):
        st.text_area(words("world.edit"), node.question, key=key, on_change="ignore", persist_state="page")
        st.caption(words("world.edit.about"))
        with st.container(horizontal=True):
            send = partial(trying, partial(_send, shown, node, key))
            icon, label = ":material/send:", words("turn.edit.send")
            st.button(label, key="edit-send", type="primary", icon=icon, shortcut="Ctrl+Enter", on_click=send)
            st.button(words("chat.withdraw"), key="edit-leave", on_click=_leave, args=(key,))


def _send(shown: WorldView, node: Node, key: str) -> None:
    text = str(st.session_state[key])
    if not text.strip():
        return
    parent = shown.engine.store.worlds.node(node.parent) if node.parent else None
    if play(shown, parent, text, typed=True):
        _leave(key)


def _leave(key: str) -> None:
    st.session_state.pop(EDITING, None)
    st.session_state.pop(key, None)
