"""What the page shows of a story beside the conversation: its world, and what is so after a turn of it.

The list of worlds has an address of its own (``?view=world``); a story has that of its conversation.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import streamlit as st

from component.page.view import PAGE, View, run_page_action, show_session, stay_there
from component.work import resource
from store.world.record import StoryNode, World
from world.engine import WorldEngine
from world.story.state import StoryState

WORLDS = "world"
"""The value of ``view`` in the address for the list of worlds."""
WORLD, NODE = "w", "n"
"""Names in addresses of earlier versions: a world, and a turn of its story."""
EXPECTED = "world-expected"
"""In session state: the turn after which a message was expected last."""


@dataclass(frozen=True, slots=True)
class WorldView:
    """The story of one page run. ``node``: the turn whose state is shown, None for the beginning; ``state``: what is so
    then; ``is_past``: the story has gone on after it, and the reader looks back."""

    view: View
    engine: WorldEngine
    world: World
    node: StoryNode | None
    state: StoryState
    is_past: bool = False


def read_story(view: View) -> WorldView | None:
    """Returns the story that the page shows; None for a conversation without a world."""
    session = view.session
    if session is None or not session.world:
        return None
    engine = resource.find_user_engine()
    world = engine.store.worlds.world(session.world)
    until = view.job.turn if view.job is not None else session.turn_count + 1
    newest = engine.store.worlds.last_before(session.id, until)
    node = newest if view.job is not None else _find_looked_at(engine, session.id, newest)
    is_past = newest is not None and (node is None or node.id != newest.id)
    return WorldView(view, engine, world, node, engine.state(node, world), is_past)


def _find_looked_at(engine: WorldEngine, session_id: str, newest: StoryNode | None) -> StoryNode | None:
    """Returns the turn that the reader looks back to; the newest one where there is none."""
    wanted = st.session_state.get(_looks(session_id))
    if wanted is None or newest is None or wanted == newest.id:
        return newest
    if not wanted:
        return None
    on_path = engine.store.worlds.on_path(newest, [wanted])
    return engine.store.worlds.node(wanted) if on_path else newest


def look_back(session_id: str, node_id: int) -> None:
    """Shows what was so after a turn of a story, 0 for its beginning; the conversation stays where it is."""
    st.session_state[_looks(session_id)] = node_id
    stay_there(session_id)


def look_at_newest(session_id: str) -> None:
    """Shows what is so after the newest turn again."""
    st.session_state.pop(_looks(session_id), None)


def _looks(session_id: str) -> str:
    return f"looks-{session_id}"


def on_worlds() -> bool:
    """Returns whether the page shows the list of worlds instead of a conversation."""
    return st.query_params.get(PAGE) == WORLDS


def show_worlds() -> None:
    """Turns the page to the list of worlds."""
    st.query_params[PAGE] = WORLDS


def open_world(world_id: str) -> None:
    """Turns the page to the story of a world that was played last; begins one where none is."""
    worlds = resource.find_user_engine().store.worlds
    stories = worlds.stories(world_id)
    show_session(stories[0].id if stories else worlds.begin(world_id).id)


def open_old_link() -> None:
    """Turns a page whose address an earlier version has made to the story that it names."""
    world_id, node_id = (st.query_params.pop(name, "") for name in (WORLD, NODE))
    if world_id:
        run_page_action(partial(_open_named, world_id, node_id))
        st.rerun()


def _open_named(world_id: str, node_id: str) -> None:
    if node_id.isascii() and node_id.isdecimal() and len(node_id) < 19:
        node = resource.find_user_engine().store.worlds.node(int(node_id))
        if node.world == world_id:
            show_session(node.session)
            look_back(node.session, node.id)
            return
    open_world(world_id)


def expect_message(shown: WorldView) -> None:
    """Lets the model read the story that was opened while the player writes, once for every turn that stands last."""
    at = (shown.world.id, shown.node.id if shown.node else 0)
    view = shown.view
    if not shown.is_past and view.status.models is not None and st.session_state.get(EXPECTED) != at:
        st.session_state[EXPECTED] = at
        shown.engine.expect(shown.world.id, shown.node)
