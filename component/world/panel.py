"""The panel of a world: everything that is known after the turn that is shown, one tab for every kind."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from component.widget.tabs import draw_tabs
from component.world.curator_tab import draw_curator
from component.world.file_tab import draw_files
from component.world.lore_tab import draw_lore
from component.world.people import draw_people
from component.world.place_tab import draw_places
from component.world.prompt_tab import draw_prompt_tab
from component.world.relation_tab import draw_relations
from component.world.timeline import draw_timeline
from component.world.view import WorldView

TYPED = "world-typed-"
"""How the keys of fields begin whose text is kept while another tab is open."""
_TABS: dict[str, Callable[[WorldView, str], None]] = {
    "people": draw_people,
    "places": draw_places,
    "relations": draw_relations,
    "timeline": draw_timeline,
    "lore": draw_lore,
    "files": draw_files,
    "curator": draw_curator,
    "prompt": draw_prompt_tab,
}


def draw_world_panel(shown: WorldView, prefix: str = "") -> None:
    """Draws the tabs, and the content of the open one only."""
    tabs = draw_tabs(shown.view.words, f"{prefix}world-tabs", "world.tab", tuple(_TABS), _keep_typed, (prefix,))
    for tab, draw in zip(tabs, _TABS.values(), strict=True):
        if tab.open:
            with tab:
                draw(shown, prefix)


def _keep_typed(prefix: str) -> None:
    """Keeps what the user typed in a tab: Streamlit forgets fields that it does not draw."""
    for key, value in st.session_state.items():
        if str(key).startswith(f"{prefix}{TYPED}"):
            st.session_state[key] = value
