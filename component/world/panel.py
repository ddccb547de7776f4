"""The panel of a world: everything that is known after the turn that is shown, one tab for every kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from component.widget.markdown import escape_markdown
from component.widget.tabs import draw_tabs
from component.world.list.book_window import render_imported_book
from component.world.list.menu import render_world_menu
from component.world.lore.lore_tab import draw_lore
from component.world.tab.curator import draw_curator
from component.world.tab.file import draw_files
from component.world.tab.people import draw_people
from component.world.tab.place import draw_places
from component.world.tab.prompt import draw_prompt_tab
from component.world.tab.relation import draw_relations
from component.world.tab.timeline import draw_timeline
from component.world.view import WorldView, look_at_newest

TYPED = "world-typed-"
"""How the keys of fields begin whose text is kept while another tab is open."""
DrawTab = Callable[[WorldView, str], None]
TABS: dict[str, DrawTab] = {
    "people": draw_people,
    "places": draw_places,
    "relations": draw_relations,
    "timeline": draw_timeline,
    "lore": draw_lore,
    "files": draw_files,
    "curator": draw_curator,
    "prompt": draw_prompt_tab,
}


def draw_world_panel(shown: WorldView, prefix: str = "", further: Mapping[str, DrawTab] = {}) -> None:
    """Draws where the story stands, the tabs, and the content of the open one only. ``further``: tabs behind those of
    the world."""
    _draw_standing(shown, prefix)
    render_imported_book(shown, prefix)
    drawn = {**TABS, **further}
    tabs = draw_tabs(shown.view.words, f"{prefix}world-tabs", "world.tab", tuple(drawn), _keep_world_fields, (prefix,))
    for tab, draw in zip(tabs, drawn.values(), strict=True):
        if tab.open:
            with tab:
                draw(shown, prefix)


def _draw_standing(shown: WorldView, prefix: str) -> None:
    """Draws where the player is, the menu of the world and, when the reader looks back, the way to the newest turn."""
    words, key = shown.view.words, f"{prefix}world-head"
    with st.container(key=key, horizontal=True, vertical_alignment="center", gap="small", wrap=False):
        facts = (shown.state.player, shown.state.me.location, shown.state.time.line)
        st.caption(
            escape_markdown(" · ".join(filter(None, facts))),
            width="stretch",
        )
        render_world_menu(words, shown.world, is_open=True, prefix=prefix)
    if not shown.is_past or shown.view.session_id is None:
        st.empty()
        return
    with st.container(key=f"{prefix}world-later", horizontal=True, vertical_alignment="center", gap="small"):
        turn = shown.node.turn if shown.node is not None else 0
        told = words("world.past", turn=turn) if turn else words("world.past.begin")
        st.caption(f":material/history: {escape_markdown(told)}", width="stretch")
        if st.button(words("world.newest"), key=f"{prefix}world-newest", icon=":material/last_page:"):
            look_at_newest(shown.view.session_id)
            st.rerun()  # a drawer that is drawn anew alone would leave the page below it as it was


def _keep_world_fields(prefix: str) -> None:
    """Keeps what the user typed in a tab: Streamlit forgets fields that it does not draw."""
    for key, value in st.session_state.items():
        if str(key).startswith(f"{prefix}{TYPED}"):
            st.session_state[key] = value
