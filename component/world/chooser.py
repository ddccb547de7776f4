"""The list of worlds: the bundled story to begin with, the user's own worlds, and the ways to further ones."""

from __future__ import annotations

from functools import partial

import streamlit as st

from component.page import window
from component.page.view import View, show_documents, trying
from component.widget.failure import draw_error
from component.widget.markdown import plain, short
from component.widget.moment import moment
from component.work import resource
from component.world.book_window import IMPORT
from component.world.menu import draw_menu
from component.world.version import newest_after
from component.world.view import playing, show_world
from component.world.window import CREATE
from errors import GieokError
from store.world.record import World
from world.engine import Engine
from world.sample import begin, sample

NAME_CHARS = 60


def draw_chooser(view: View, error: GieokError | None) -> None:
    """Draws the list. ``error``: of the user's last action."""
    words, engine = view.words, resource.engine()
    with st.container(horizontal=True, vertical_alignment="center", key="worlds-head"):
        st.markdown(f"## {words('world.title')}", anchors=False, width="stretch")
        back, icon = words("documents.back"), ":material/arrow_back:"
        st.button(back, key="worlds-back", icon=icon, type="tertiary", on_click=show_documents, args=(False,))
    st.caption(words("world.about"))
    if error is not None:
        draw_error(words, error)
    else:
        st.empty()
    worlds = engine.store.worlds.all()
    _draw_sample(view, engine, first=not worlds)
    with st.container(horizontal=True, gap="small", key="worlds-new"):
        for name, icon in ((CREATE, "add"), (IMPORT, "upload")):
            label, ask = words(f"world.{name}"), partial(window.ask, f"world-{name}")
            st.button(label, key=f"world-{name}", icon=f":material/{icon}:", on_click=ask)
    if worlds:
        with st.container(key="world-rows", gap="small"):
            for world in worlds:
                _draw_row(view, engine, world)


def _draw_sample(view: View, engine: Engine, *, first: bool) -> None:
    words = view.words
    with st.container(key="world-sample", border=True, gap="small"):
        st.markdown(f"**{plain(sample(words.language).name)}**")
        st.caption(words("world.sample.about"))
        label, go = words("world.sample.play"), partial(trying, partial(_begin, view, engine))
        st.button(
            label,
            key="world-sample-play",
            type="primary" if first else "secondary",
            icon=":material/play_arrow:",
            on_click=go,
        )


def _begin(view: View, engine: Engine) -> None:
    world, node = begin(engine, view.words.language)
    show_world(world.id, node.id)


def _draw_row(view: View, engine: Engine, world: World) -> None:
    words = view.words
    newest = newest_after(engine, world.id, None)
    parts = [words("world.turns", count=newest.turn if newest else 0), moment(world.updated)]
    parts = [words("world.playing"), *parts] if (call := playing(world.id)) and not call.done else parts
    with st.container(
        key=f"world-row-{world.id}", horizontal=True, vertical_alignment="center", gap="small", wrap=False
    ):
        with st.container(gap=None, width="stretch"):
            open_it = partial(show_world, world.id, newest.id if newest else 0)
            label = plain(short(world.name, NAME_CHARS))
            st.button(label, key=f"world-open-{world.id}", type="tertiary", on_click=open_it)
            st.caption(plain(" · ".join(parts)))
        draw_menu(words, world, is_open=False)
