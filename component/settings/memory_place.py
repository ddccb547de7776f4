"""The settings that stand with the memory they are about, in the memory tab of the panel: ways from the settings window
to each of them."""

from __future__ import annotations

from functools import partial

import streamlit as st

from component.page import window
from component.page.help import PANEL
from component.page.point import PagePlace, point_at
from component.page.view import View
from component.work import resource

PLACES: dict[str, PagePlace] = {
    "memory.carry": PagePlace(f'{PANEL} [class*="memory-carry-"]', tab=1),
    "proposal.first": PagePlace(f'{PANEL} [class*="memory-first-"]', tab=1),
    "memory.takeout": PagePlace(f"{PANEL} :is(.st-key-takeout, .st-key-drawer-takeout)", tab=1),
    "memory.erase": PagePlace(f"{PANEL} :is(.st-key-erase, .st-key-drawer-erase)", tab=1),
}
"""Where each setting stands, by the key of its name."""


def draw_memory_place(view: View, name: str) -> None:
    """Draws the way to a setting; nothing where memory is off, or the settings of the program decide."""
    words = view.words
    if view.agent.memory is None:
        return
    if name == "memory.carry" and not resource.find_user_agent().settings.user_memory:
        st.caption(words("memory.carry.never"))
        return
    st.button(
        words(name),
        key=f"options-go-{name.replace('.', '-')}",
        type="tertiary",
        icon=":material/my_location:",
        help=words("options.memory.story" if view.is_story else "options.memory.place"),
        disabled=view.is_story,
        on_click=partial(_go_to_setting, name),
    )


def _go_to_setting(name: str) -> None:
    window.close_page_window()
    point_at(PLACES[name])
