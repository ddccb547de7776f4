"""The menu of a world: its names, files in and out, and its end."""

from __future__ import annotations

from functools import partial

from component.page import window
from component.page.catalogue import Words
from component.page.view import show_session
from component.widget.overflow import MenuItem, draw_overflow
from component.work import resource
from component.world.list.book_window import EXPORT, IMPORT
from component.world.list.window import CHANGE, DELETE
from store.world.record import World

_ICONS = {CHANGE: "edit", IMPORT: "upload", EXPORT: "download", DELETE: "delete"}


def render_world_menu(words: Words, world: World, *, is_open: bool, prefix: str = "") -> None:
    """Draws the menu. ``is_open``: the page shows this world, so that a file can be added to it."""
    names = [name for name in _ICONS if is_open or name != IMPORT]
    choices = {
        name: MenuItem(
            words(f"world.{name}"), _ICONS[name], partial(window.open_page_window, f"world-{name}", world.id)
        )
        for name in names
    }
    choices["again"] = MenuItem(words("world.again"), "add", partial(begin_further_story, world.id))
    draw_overflow(f"more-world-{prefix}{world.id}", choices, upright=True)


def begin_further_story(world_id: str) -> None:
    """Begins a further story of a world, and turns the page to it."""
    show_session(resource.find_user_engine().store.worlds.begin(world_id).id)
