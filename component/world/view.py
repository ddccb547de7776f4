"""What one run of the worlds' page shows: the world, the turn that was reached, and what is so after it.

The address holds the page (``?view=world``), the world (``&w=…``) and the turn (``&n=…``), so that a refresh, a
bookmark and the browser's back button find the same place in the story again.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import streamlit as st

from component.page.catalogue import Words
from component.page.view import PAGE, View, tell
from component.work import resource
from component.work.side_call import SideCall
from errors import GieokError
from store.world.record import Node, World
from world.engine import Engine
from world.state import State

WORLDS = "world"
"""The value of ``view`` in the address for this page."""
WORLD, NODE = "w", "n"
WORLD_DRAWER = "world-drawer"
"""The name of the window that shows the panel of a world on narrow screens."""


@dataclass(frozen=True, slots=True)
class WorldView:
    """The data of one page run. ``node``: the turn after which the story goes on, None at its beginning; ``state``:
    what is so then; ``call``: the turn that is being played, or has just been and was not taken in yet."""

    view: View
    engine: Engine
    world: World
    node: Node | None
    state: State
    call: SideCall | None


def on_worlds() -> bool:
    """Returns whether the page shows worlds instead of a conversation."""
    return st.query_params.get(PAGE) == WORLDS


def show_worlds() -> None:
    """Turns the page to the worlds: to the one that was open, else to the list."""
    st.query_params[PAGE] = WORLDS


def show_world(world_id: str | None, node_id: int = 0) -> None:
    """Turns the page to a world and a turn of its story, 0 for its beginning; None: to the list of worlds."""
    st.query_params[PAGE] = WORLDS
    for name, value in ((WORLD, world_id), (NODE, str(node_id) if node_id and world_id else None)):
        if value:
            st.query_params[name] = value
        else:
            st.query_params.pop(name, None)


def title(words: Words) -> str:
    """Returns the name of the world that the address asks for; without one, that of the page."""
    with suppress(GieokError):
        if world_id := st.query_params.get(WORLD):
            return resource.engine().store.worlds.world(world_id).name
    return words("world.title")


def current(view: View) -> WorldView | None:
    """Returns the world that the address asks for; None for the list of worlds. An unknown one becomes the list with a
    notice."""
    world_id = st.query_params.get(WORLD)
    if not world_id:
        return None
    engine = resource.engine()
    try:
        world = engine.store.worlds.world(world_id)
        node = _node(engine, world)
        return WorldView(view, engine, world, node, engine.state(node, world), playing(world.id))
    except GieokError as error:
        show_world(None)
        tell(error)
        return None


def playing(world_id: str) -> SideCall | None:
    """Returns the turn of a world that is being played on this page's user's behalf, if there is one."""
    return resource.side_calls().of(("world", world_id))


def _node(engine: Engine, world: World) -> Node | None:
    """Returns the turn that the address names, if it is one of this world."""
    named = st.query_params.get(NODE, "")
    if not (named.isascii() and named.isdecimal() and len(named) < 19):
        return None
    node = engine.store.worlds.node(int(named))
    return node if node.world == world.id else None
