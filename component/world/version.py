"""The versions of a turn (other answers, other messages), and the ends of the story's branches."""

from __future__ import annotations

from functools import partial

import streamlit as st

from component.page.view import trying
from component.world.view import WorldView, show_world
from store.world.record import Node
from world.engine import Engine

LEAVES = 50
"""How many ends of branches are looked at for the newest turn after another."""


def newest_after(engine: Engine, world_id: str, node: Node | None) -> Node | None:
    """Returns the newest turn that no other follows, at or after a turn; None: after the beginning. The turn itself
    when its branch was not played lately."""
    worlds = engine.store.worlds
    for leaf in worlds.leaves(world_id, LEAVES):
        if node is None or worlds.on_path(leaf, [node.id]):
            return leaf
    return node


def draw_versions(shown: WorldView, node: Node, *, disabled: bool) -> None:
    """Draws the switch between the versions of a turn, if there are several."""
    words, name = shown.view.words, f"w{node.id}"
    ids = [one.id for one in shown.engine.store.worlds.children(shown.world.id, node.parent)]
    if len(ids) < 2:
        return
    place = ids.index(node.id)
    key = f"versions-{name}"
    with st.container(key=key, horizontal=True, vertical_alignment="center", gap=None, width="content"):
        for step, icon, way in ((-1, "chevron_left", "earlier"), (1, "chevron_right", "later")):
            target = place + step
            inside = 0 <= target < len(ids)
            go = partial(trying, partial(_switch, shown, ids[target] if inside else node.id))
            st.button(
                "",
                key=f"{way}-{name}",
                icon=f":material/{icon}:",
                type="tertiary",
                help=words(f"turn.{way}"),
                on_click=go,
                disabled=disabled or not inside,
            )
            if step < 0:
                st.caption(f"{place + 1}/{len(ids)}", width="content")


def _switch(shown: WorldView, node_id: int) -> None:
    """Turns the page to the newest turn of another version's branch."""
    newest = newest_after(shown.engine, shown.world.id, shown.engine.store.worlds.node(node_id))
    show_world(shown.world.id, newest.id if newest else node_id)
