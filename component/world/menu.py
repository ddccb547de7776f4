"""The menu of a world: its names, files in and out, and its end."""

from __future__ import annotations

from functools import partial

from component.page import window
from component.page.catalogue import Words
from component.widget.overflow import Item, draw_overflow
from component.world.book_window import EXPORT, IMPORT
from component.world.window import CHANGE, DELETE
from store.world.record import World

_ICONS = {CHANGE: "edit", IMPORT: "upload", EXPORT: "download", DELETE: "delete"}


def draw_menu(words: Words, world: World, *, is_open: bool) -> None:
    """Draws the menu. ``is_open``: the page shows this world, so that a file can be added to it."""
    names = [name for name in _ICONS if is_open or name != IMPORT]
    choices = {
        name: Item(words(f"world.{name}"), _ICONS[name], partial(window.ask, f"world-{name}", world.id))
        for name in names
    }
    draw_overflow(f"more-world-{world.id}", choices, upright=True)
