"""What the user corrects by hand: after the turn that is shown, or in the beginning of the story."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import streamlit as st

from component.page.view import try_page_action
from component.world.view import WorldView
from store.world.change import merge_changes
from store.world.record import Changes

ROWS = 20
"""Rows on one page of a list: a list of a thousand entries is thus drawn as fast as a list of ten."""
One = TypeVar("One")


def store_correction(shown: WorldView, changes: Changes) -> bool:
    """Stores a correction; returns whether that was possible. The page shows why it was not."""
    return try_page_action(lambda: _write_correction(shown, changes))


def _write_correction(shown: WorldView, changes: Changes) -> None:
    worlds, world = shown.engine.store.worlds, shown.world.id
    if shown.node is not None:
        shown.engine.correct(shown.node, changes)
    else:
        worlds.set_begin_state(world, merge_changes(worlds.begin_state(world), changes))


def place_of(shown: WorldView) -> str:
    """Returns the world and the turn that are shown, for the keys of fields: another turn has fields of its own."""
    return f"{shown.world.id}-{shown.node.id if shown.node else 0}"


def set_field_default(key: str, value: object) -> None:
    """Gives a field its first value; what the user has typed since stays."""
    st.session_state.setdefault(key, value)


def slice_list_page(rows: Sequence[One], key: str) -> tuple[Sequence[One], int]:
    """Returns the rows on the page of a list that is open, and how many pages there are."""
    pages = max(1, -(-len(rows) // ROWS))
    page = min(int(st.session_state.get(key, 1)), pages)
    return rows[(page - 1) * ROWS : page * ROWS], pages


def draw_pages(pages: int, key: str) -> None:
    """Draws the page numbers below a list, if there are several."""
    if pages > 1:
        with st.container(key=f"{key}-pages", horizontal_alignment="center"):
            st.pagination(pages, key=key, max_visible_pages=5)
