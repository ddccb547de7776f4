"""A button with a list of actions: the overflow menu «⋯», or a menu with an icon of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import streamlit as st

from component.page.view import run_page_action


class MenuItem(NamedTuple):
    """An action: its label, the name of its Material icon, and its function (the page shows a ``GieokError`` of it)."""

    label: str
    icon: str
    do: Callable[[], object]


def draw_overflow(key: str, choices: Mapping[str, MenuItem], *, upright: bool = False, disabled: bool = False) -> None:
    """Draws the button «⋯»; ``choices``: items by name, in the order of the list."""
    render_icon_menu(key, choices, "more_vert" if upright else "more_horiz", type="tertiary", disabled=disabled)


def render_icon_menu(key: str, choices: Mapping[str, MenuItem], icon: str, label: str = "", **form: Any) -> None:
    """Draws the button with this icon. ``form``: what ``st.menu_button`` takes beside."""
    st.menu_button(
        label,
        list(choices),
        key=key,
        icon=f":material/{icon}:",
        format_func=lambda name: f":material/{choices[name].icon}: {choices[name].label}",
        on_click=_run_chosen_item,
        args=(key, choices),
        **form,
    )


def _run_chosen_item(key: str, choices: Mapping[str, MenuItem]) -> None:
    item = choices.get(str(st.session_state.get(key)))
    if item is not None:
        run_page_action(item.do)
