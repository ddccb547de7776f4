"""Who stands how to whom, as a graph and as text."""

from __future__ import annotations

import streamlit as st

from component.widget.markdown import plain
from component.world.correction import draw_pages, paged
from component.world.graph import relation_graph
from component.world.picture import draw_picture
from component.world.view import WorldView
from store.world.record import Relation


def draw_relations(shown: WorldView, prefix: str = "") -> None:
    """Draws the tab: the graph, below it every relation, those of the player first, then the strongest."""
    words, state = shown.view.words, shown.state
    if not state.relations:
        st.caption(words("world.relations.none"))
        return
    draw_picture(shown, relation_graph, words("world.relations.alt", count=len(state.relations)))
    key = f"{prefix}world-relations-page-{shown.world.id}"
    rows, pages = paged(sorted(state.relations.values(), key=lambda one: _order(one, state.player)), key)
    st.markdown("\n".join(f"- {_told(one)}" for one in rows))
    draw_pages(pages, key)


def _order(one: Relation, player: str) -> tuple[bool, int, str, str]:
    return player not in (one.from_char, one.to_char), -abs(one.strength), one.from_char, one.to_char


def _told(one: Relation) -> str:
    told = f"{plain(one.from_char)} → {plain(one.to_char)}: {plain(one.rel_type or '–')}"
    colour = "red" if one.strength < 0 else "gray"
    return f"{told} :{colour}[{plain(f'{one.strength:+d}')}]"
