"""The windows about one world: a new one, its name and its player's, and the question before it is deleted."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit as st

from component.page import window
from component.page.view import View
from component.widget.failure import telling
from component.widget.markdown import plain
from component.work import resource
from component.world.view import WORLD, show_world
from errors import WorldUnknown
from store.world.record import World
from store.world.worlds import DEFAULT_PLAYER, NAME_CHARS
from world.beginning import Beginning, found, remove

CREATE, CHANGE, DELETE = "new", "change", "delete"


def draw_create(view: View, about: object = None) -> None:
    """Draws the window that creates an empty world."""
    window.draw(view.words("world.new"), lambda: _draw_create(view))


def draw_change(view: View, about: Any) -> None:
    """Draws the window that changes the names of a world. ``about``: its id."""
    _with_world(view, about, "world.change", _draw_change)


def draw_delete(view: View, about: Any) -> None:
    """Draws the question before a world is deleted. ``about``: its id."""
    _with_world(view, about, "world.delete", _draw_delete)


def _with_world(view: View, world_id: str, title: str, draw: Callable[[View, World], None]) -> None:
    """Draws a window about a world; none for one that is gone."""
    try:
        world = resource.engine().store.worlds.world(world_id)
    except WorldUnknown:
        window.shut()
        return
    window.draw(view.words(title), partial(draw, view, world))


def _draw_create(view: View) -> None:
    words, language = view.words, view.words.language
    st.caption(words("world.new.about"))
    with st.form("world-create", border=False):
        name = st.text_input(words("world.name"), key="world-create-name", max_chars=NAME_CHARS)
        player, default = words("world.player"), DEFAULT_PLAYER[language]
        player = st.text_input(player, key="world-create-player", placeholder=default, max_chars=NAME_CHARS)
        if st.form_submit_button(words("world.new.go"), key="world-create-go", type="primary", icon=":material/add:"):
            with telling(words):
                world, _ = found(resource.engine(), Beginning(name, language, player))
                show_world(world.id)
                window.shut()


def _draw_change(view: View, world: World) -> None:
    words, worlds = view.words, resource.engine().store.worlds
    with st.form("world-names", border=False):
        name = st.text_input(words("world.name"), world.name, key=f"world-name-{world.id}", max_chars=NAME_CHARS)
        label, key = words("world.player"), f"world-player-{world.id}"
        player = st.text_input(label, world.player, key=key, help=words("world.player.about"), max_chars=NAME_CHARS)
        if st.form_submit_button(words("world.change.go"), key="world-names-go", type="primary"):
            with telling(words):
                worlds.rename(world.id, name)
                if player != world.player:
                    worlds.set_player(world.id, player)
                window.shut()


def _draw_delete(view: View, world: World) -> None:
    words = view.words
    st.markdown(plain(world.name))
    st.caption(words("world.delete.about"))
    with st.container(horizontal=True, gap="small"):
        if st.button(words("world.delete"), key="world-delete-go", type="primary", icon=":material/delete:"):
            with telling(words):
                _delete(world)
                window.shut()
        st.button(words("chat.withdraw"), key="world-delete-not", on_click=window.shut)


def _delete(world: World) -> None:
    resource.side_calls().dismiss(("world", world.id))
    remove(resource.engine(), world)
    if st.query_params.get(WORLD) == world.id:
        show_world(None)
