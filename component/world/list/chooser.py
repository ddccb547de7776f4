"""The list of worlds: the bundled story to begin with, the user's own worlds, and the ways to further ones."""

from __future__ import annotations

from functools import partial

import streamlit as st

from component.page import window
from component.page.view import View, run_page_action, show_documents
from component.widget.failure import draw_error
from component.widget.markdown import escape_markdown, shorten_text
from component.widget.moment import format_reader_moment
from component.work import resource
from component.world.list.book_window import IMPORT
from component.world.list.menu import render_world_menu
from component.world.list.window import CREATE
from component.world.view import open_world
from errors import GieokError
from store.world.record import World
from world.engine import WorldEngine
from world.sample import create_sample_world, load_sample_story

NAME_CHARS = 60


def draw_chooser(view: View, error: GieokError | None) -> None:
    """Draws the list. ``error``: of the user's last action."""
    words, engine = view.words, resource.find_user_engine()
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
            label, ask = words(f"world.{name}"), partial(window.open_page_window, f"world-{name}")
            st.button(label, key=f"world-{name}", icon=f":material/{icon}:", on_click=ask)
    if worlds:
        with st.container(key="world-rows", gap="small"):
            for world in worlds:
                _render_world_row(view, engine, world)


def _draw_sample(view: View, engine: WorldEngine, *, first: bool) -> None:
    words = view.words
    with st.container(key="world-sample", border=True, gap="small"):
        st.markdown(f"**{escape_markdown(load_sample_story(words.language).name)}**")
        st.caption(words("world.sample.about"))
        label, go = words("world.sample.play"), partial(run_page_action, partial(_begin_sample_story, view, engine))
        st.button(
            label,
            key="world-sample-play",
            type="primary" if first else "secondary",
            icon=":material/play_arrow:",
            on_click=go,
        )


def _begin_sample_story(view: View, engine: WorldEngine) -> None:
    world, _ = create_sample_world(engine, view.words.language)
    open_world(world.id)


def _render_world_row(view: View, engine: WorldEngine, world: World) -> None:
    words = view.words
    stories = engine.store.worlds.stories(world.id)
    parts = [
        words("world.turns", count=sum(story.turn_count for story in stories)),
        format_reader_moment(world.updated),
    ]
    parts = [words("world.stories", count=len(stories)), *parts] if len(stories) > 1 else parts
    is_played = any(resource.find_user_jobs().of(story.id) is not None for story in stories)
    parts = [words("world.playing"), *parts] if is_played else parts
    with st.container(
        key=f"world-row-{world.id}", horizontal=True, vertical_alignment="center", gap="small", wrap=False
    ):
        with st.container(gap=None, width="stretch"):
            open_it = partial(run_page_action, partial(open_world, world.id))
            label = escape_markdown(shorten_text(world.name, NAME_CHARS))
            st.button(label, key=f"world-open-{world.id}", type="tertiary", on_click=open_it)
            st.caption(escape_markdown(" · ".join(parts)))
        render_world_menu(words, world, is_open=False)
