"""The windows about one world: a new one, its name and its player's, and the question before it is deleted."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit as st

from component.page import window
from component.page.view import View, show_session
from component.widget.failure import render_raised_error
from component.widget.markdown import escape_markdown
from component.work import resource
from component.world.view import open_world, show_worlds
from errors import WorldUnknown
from store.world.record import World
from store.world.worlds import DEFAULT_PLAYER, NAME_CHARS
from world.beginning import Beginning, create_story_world, remove_story_world

CREATE, CHANGE, DELETE = "new", "change", "delete"


def draw_create(view: View, about: object = None) -> None:
    """Draws the window that creates an empty world."""
    window.render_page_window(view.words("world.new"), lambda: _draw_create(view))


def draw_change(view: View, about: Any) -> None:
    """Draws the window that changes the names of a world. ``about``: its id."""
    _with_world(view, about, "world.change", _render_world_names_form)


def render_world_deletion(view: View, about: Any) -> None:
    """Draws the question before a world is deleted. ``about``: its id."""
    _with_world(view, about, "world.delete", _render_world_deletion_question)


def _with_world(view: View, world_id: str, title: str, draw: Callable[[View, World], None]) -> None:
    """Draws a window about a world; none for one that is gone."""
    try:
        world = resource.find_user_engine().store.worlds.world(world_id)
    except WorldUnknown:
        window.close_page_window()
        return
    window.render_page_window(view.words(title), partial(draw, view, world))


def _draw_create(view: View) -> None:
    words, language = view.words, view.words.language
    st.caption(words("world.new.about"))
    with st.form("world-create", border=False):
        name = st.text_input(words("world.name"), key="world-create-name", max_chars=NAME_CHARS)
        player, default = words("world.player"), DEFAULT_PLAYER[language]
        player = st.text_input(player, key="world-create-player", placeholder=default, max_chars=NAME_CHARS)
        if st.form_submit_button(words("world.new.go"), key="world-create-go", type="primary", icon=":material/add:"):
            with render_raised_error(words):
                world, _ = create_story_world(resource.find_user_engine(), Beginning(name, language, player))
                open_world(world.id)
                window.close_page_window()


def _render_world_names_form(view: View, world: World) -> None:
    words, worlds = view.words, resource.find_user_engine().store.worlds
    with st.form("world-names", border=False):
        name = st.text_input(words("world.name"), world.name, key=f"world-name-{world.id}", max_chars=NAME_CHARS)
        label, key = words("world.player"), f"world-player-{world.id}"
        player = st.text_input(label, world.player, key=key, help=words("world.player.about"), max_chars=NAME_CHARS)
        if st.form_submit_button(words("world.change.go"), key="world-names-go", type="primary"):
            with render_raised_error(words):
                worlds.rename(world.id, name)
                if player != world.player:
                    resource.find_user_engine().rename_player(world, player)
                window.close_page_window()


def _render_world_deletion_question(view: View, world: World) -> None:
    words = view.words
    st.markdown(escape_markdown(world.name))
    st.caption(words("world.delete.about"))
    with st.container(horizontal=True, gap="small"):
        if st.button(words("world.delete"), key="world-delete-go", type="primary", icon=":material/delete:"):
            with render_raised_error(words):
                _delete_world(view, world)
                window.close_page_window()
        st.button(words("chat.withdraw"), key="world-delete-not", on_click=window.close_page_window)


def _delete_world(view: View, world: World) -> None:
    """Deletes a world with its stories; those that are being played are stopped."""
    for story in resource.find_user_engine().store.worlds.stories(world.id):
        if (job := resource.find_user_jobs().of(story.id)) is not None:
            job.stop.set()
    remove_story_world(resource.find_user_engine(), world)
    if view.session is not None and view.session.world == world.id:
        show_session(None)
        show_worlds()
