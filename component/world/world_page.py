"""The page of story worlds: the list of worlds, or one world that is being played, with its panel."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from component.page import window
from component.page.view import View, show_documents, told
from component.widget.failure import draw_error, toast
from component.widget.markdown import plain
from component.widget.region import stage
from component.world.book_window import draw_imported
from component.world.chooser import draw_chooser
from component.world.composer import draw_composer
from component.world.live import LiveTurn
from component.world.menu import draw_menu
from component.world.panel import draw_world_panel
from component.world.playing import settle
from component.world.story import draw_story
from component.world.view import WorldView, current, show_world
from errors import GieokError


@dataclass(frozen=True, slots=True)
class Drawn:
    """What the page shows, for those who follow it: ``shown`` is None for the list of worlds, ``live`` while no answer
    grows."""

    shown: WorldView | None = None
    live: LiveTurn | None = None


def draw_worlds(view: View) -> Drawn:
    """Draws the page."""
    shown = current(view)
    if shown is not None and settle(shown):
        shown = current(view)
    error = told()
    if error is not None:
        toast(view.words, error)
    if shown is None:
        with st.container(key="worlds", gap="small"):
            draw_chooser(view, error)
        return Drawn()
    return Drawn(shown, _draw_play(shown, error))


def _draw_play(shown: WorldView, error: GieokError | None) -> LiveTurn | None:
    left, right = st.columns([7, 3], gap="medium", wrap=False)
    with left:
        _draw_head(shown)
        draw_imported(shown)
        live = draw_story(shown)
        if error is not None:
            draw_error(shown.view.words, error)
        else:
            st.empty()
        draw_composer(shown)
    with right.container(height=160, key="panel", border=False), stage("context", ("world", shown.world.id)):
        draw_world_panel(shown)
    return live


def draw_drawer(view: View, about: object = None) -> None:
    """Draws the panel of the open world as a drawer from the right, for narrow screens."""
    shown = current(view)
    if shown is None:
        window.shut()
        return
    title = view.words("world.panel")
    window.draw(title, lambda: draw_world_panel(shown, "drawer-"), width="medium", position="right")


def _draw_head(shown: WorldView) -> None:
    """Draws the way back to the list, and where the story stands."""
    words = shown.view.words
    with st.container(key="world-head", horizontal=True, vertical_alignment="center", gap="small", wrap=False):
        icon, label = ":material/arrow_back:", words("world.list")
        st.button(label, key="world-list", icon=icon, type="tertiary", on_click=show_world, args=(None,))
        st.caption(plain(" · ".join(filter(None, (shown.state.player, shown.state.me.location)))), width="stretch")
        label, icon = words("documents.back"), ":material/chat:"
        st.button("", key="world-back", icon=icon, help=label, type="tertiary", on_click=show_documents, args=(False,))
        draw_menu(words, shown.world, is_open=True)
