"""The input of a story: what the player does or says, and the stop button while the answer grows."""

from __future__ import annotations

import streamlit as st

from component.page.view import tried
from component.world.playing import give_back, input_key, play
from component.world.view import WorldView

EXPECTED = "world-expected"
"""In session state: the turn after which a message was expected last."""


def draw_composer(shown: WorldView) -> None:
    """Draws the input and, while an answer grows, the stop button (Esc) beside it. A failed turn is decided on first:
    its message would be lost otherwise."""
    words, call, key = shown.view.words, shown.call, input_key(shown.world.id)
    returned = f"returned-{key}"
    if returned in st.session_state:
        st.session_state[key] = st.session_state.pop(returned)
    if call is None:
        _expect(shown)
    failed = call is not None and call.error is not None
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="composer"):
        st.chat_input(
            words("world.ask.failed" if failed else "world.ask", player=shown.world.player),
            key=key,
            disabled=call is not None,
            on_submit=_submit,
            args=(shown, key),
        )
        if call is not None and not call.done:
            st.button(
                words("chat.stop"),
                icon=":material/stop_circle:",
                key="stop",
                shortcut="Esc",
                on_click=call.stop.set,
                disabled=call.stop.is_set(),
            )


def _submit(shown: WorldView, key: str) -> None:
    """Plays the typed message; one that cannot be played goes back into the input."""
    text = str(st.session_state[key] or "").strip()
    begun: list[bool] = []
    if text and not (tried(lambda: begun.append(play(shown, shown.node, text, typed=True))) and begun[0]):
        give_back(shown, text)


def _expect(shown: WorldView) -> None:
    """Lets the model read the story that was opened while the player writes, once for every turn that stands last."""
    at = (shown.world.id, shown.node.id if shown.node else 0)
    if shown.view.status.models is not None and st.session_state.get(EXPECTED) != at:
        st.session_state[EXPECTED] = at
        shown.engine.expect(shown.world.id, shown.node)
