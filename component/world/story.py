"""The story so far, with the look of the chat, and the turn that is being played."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from component.chat.turn import USER
from component.page.view import trying
from component.widget.failure import draw_error, retry_button
from component.widget.markdown import shown as harmless
from component.widget.region import stage
from component.world.live import LiveTurn
from component.world.playing import asked, dismiss, retry
from component.world.turn import draw_turn
from component.world.version import newest_after
from component.world.view import WorldView, show_world
from store.world.record import Node

SHOWN = 30
"""How many turns the page shows, until earlier ones are wanted."""
HOLDS = "world-holds"


def draw_story(shown: WorldView) -> LiveTurn | None:
    """Draws the turns and what is being played. Returns the place of the growing answer, if there is one."""
    path = _path(shown)
    with (
        st.container(height=160, key=f"chat-world-{shown.world.id}", border=False, autoscroll=True),
        stage("talk", _holds(shown, path)),
        st.container(key="turns"),
    ):
        if path and path[0].parent:
            _draw_earlier(shown)
        for node in path:
            draw_turn(shown, node, last=node is path[-1])
        if not path and shown.call is None:
            st.caption(shown.view.words("world.empty"), text_alignment="center")
        if shown.call is not None:
            return _draw_asked(shown)
        _draw_later(shown)
    return None


def _path(shown: WorldView) -> list[Node]:
    if shown.node is None:
        return []
    return shown.engine.store.worlds.path(shown.node, int(st.session_state.get(_size(shown), SHOWN)))


def _size(shown: WorldView) -> str:
    return f"world-size-{shown.world.id}"


def _holds(shown: WorldView, path: Sequence[Node]) -> tuple[str, int]:
    """Returns a key for the turns on the page: the same while the story only goes on, so that nothing is cleared."""
    ids = [node.id for node in path]
    world, before, number = st.session_state.get(HOLDS, ("", [], 0))
    goes_on = world == shown.world.id and (before == ids or (bool(before) and before[-1] in ids))
    number = number if goes_on else number + 1
    st.session_state[HOLDS] = (shown.world.id, ids, number)
    return shown.world.id, number


def _draw_earlier(shown: WorldView) -> None:
    def widen() -> None:
        st.session_state[_size(shown)] = int(st.session_state.get(_size(shown), SHOWN)) + SHOWN

    icon, label = ":material/history:", shown.view.words("world.earlier")
    st.button(label, key="world-earlier", icon=icon, type="tertiary", on_click=widen)


def _draw_later(shown: WorldView) -> None:
    """Draws the way to the newest turn, where the story has gone on after this one."""
    words, here = shown.view.words, shown.node.id if shown.node else 0
    if not shown.engine.store.worlds.children(shown.world.id, here):
        return
    with st.container(key="world-later", horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(f":material/history: {words('world.later')}", width="stretch")
        go = partial(trying, partial(_to_newest, shown))
        st.button(words("world.newest"), key="world-newest", icon=":material/last_page:", on_click=go)


def _to_newest(shown: WorldView) -> None:
    newest = newest_after(shown.engine, shown.world.id, shown.node)
    if newest is not None:
        show_world(shown.world.id, newest.id)


def _draw_asked(shown: WorldView) -> LiveTurn | None:
    """Draws what is being answered; of a failed turn the error, with the ways on."""
    words, call, what = shown.view.words, shown.call, asked(shown)
    if call is None or what is None:
        return None
    with st.container(key="question-world"), st.chat_message("user", avatar=USER):
        st.text(harmless(what.question))
    if call.error is None:
        live = LiveTurn(words, call, what)
        live.update(shown.view.status)
        return live
    draw_error(words, call.error)
    with st.container(key="world-failed", horizontal=True, gap="small"):
        retry_button(words("chat.retry"), "world-retry", partial(trying, partial(retry, shown)))
        label = words("world.take_back" if what.typed else "chat.withdraw")
        st.button(label, key="world-take-back", type="tertiary", on_click=dismiss, args=(shown,))
    return None
