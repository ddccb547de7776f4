"""Who stands how to whom, as a graph and as text."""

from __future__ import annotations

import streamlit as st

from component.widget.markdown import escape_markdown
from component.world.correction import draw_pages, slice_list_page
from component.world.tab.graph import relation_graph
from component.world.tab.picture import draw_picture
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
    rows, pages = slice_list_page(
        sorted(state.relations.values(), key=lambda one: _rank_relation(one, state.player)), key
    )
    st.markdown("\n".join(f"- {_format_relation(one)}" for one in rows))
    draw_pages(pages, key)


def _rank_relation(one: Relation, player: str) -> tuple[bool, int, str, str]:
    return player not in (one.from_char, one.to_char), -abs(one.strength), one.from_char, one.to_char


def _format_relation(one: Relation) -> str:
    told = f"{escape_markdown(one.from_char)} → {escape_markdown(one.to_char)}: {escape_markdown(one.rel_type or '–')}"
    colour = "red" if one.strength < 0 else "gray"
    return f"{told} :{colour}[{escape_markdown(f'{one.strength:+d}')}]"
