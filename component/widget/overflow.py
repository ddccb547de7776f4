"""The overflow menu: a «⋯» button with a list of actions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import streamlit as st

from component.page.view import trying


class Item(NamedTuple):
    """An action: its label, the name of its Material icon, and its function (the page shows a ``GieokError`` of it)."""

    label: str
    icon: str
    do: Callable[[], object]


def draw_overflow(key: str, choices: Mapping[str, Item], *, upright: bool = False, disabled: bool = False) -> None:
    """Draws the button; ``choices``: items by name, in the order of the list."""
    st.menu_button(
        "",
        list(choices),
        key=key,
        icon=f":material/{'more_vert' if upright else 'more_horiz'}:",
        type="tertiary",
        format_func=lambda name: f":material/{choices[name].icon}: {choices[name].label}",
        on_click=_chosen,
        args=(key, choices),
        disabled=disabled,
    )


def _chosen(key: str, choices: Mapping[str, Item]) -> None:
    item = choices.get(str(st.session_state.get(key)))
    if item is not None:
        trying(item.do)
