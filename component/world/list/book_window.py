"""Lorebooks and character cards: the window that reads a file of another program, and the one that writes them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import streamlit as st

from component.page import window
from component.page.catalogue import Words
from component.page.view import View
from component.widget.failure import render_raised_error
from component.widget.markdown import escape_markdown
from component.work import resource
from component.world.list.import_view import draw_overview, draw_problems, draw_room
from component.world.view import WorldView, open_world
from errors import WorldUnknown
from store.world.record import World
from store.world.worlds import DEFAULT_PLAYER, NAME_CHARS
from text.clean import collapse_spaces
from world.beginning import add_book_to_world, book_of, create_story_world, from_book, measure_lore, room_for
from world.book import FORMATS, Book, Format, read_book, write_book
from world.book.field import BookProblem
from world.book.write import SUFFIXES
from world.engine import WorldEngine
from world.file.file import PREFIX

IMPORT, EXPORT = "import", "export"
IMPORTED = "world-imported"
KINDS = ["json", "png", "apng", "charx", "jpg", "jpeg", "lorebook"]
"""Endings of files that the window takes."""
_UNSAFE = re.compile(r'[\\/:*?"<>|\x00-\x1f]+')
_JSON = "application/json"
_KINDS = {".json": _JSON, ".lorebook": _JSON, ".png": "image/png", ".charx": "application/zip"}


@dataclass(frozen=True, slots=True)
class ImportedBook:
    """What came of a file: into which world, how many entries, and what was wrong with others."""

    world: str
    name: str
    entries: int
    problems: tuple[BookProblem, ...]


def render_book_import(view: View, about: str | None = None) -> None:
    """Draws the window that reads a file, into the world ``about`` or into a new one."""
    window.render_page_window(view.words("world.import"), lambda: _render_book_import_form(view, about), width="medium")


def _render_book_import_form(view: View, open_id: str | None) -> None:
    """Draws the field for the file; of a file that can be read what comes over, before it does."""
    words = view.words
    st.caption(words("world.import.about"))
    upload = st.file_uploader(words("world.import.file"), type=KINDS, key="world-import-file", max_upload_size=30)
    if upload is None:
        return
    with render_raised_error(words):
        engine, language = resource.find_user_engine(), words.language
        world = engine.store.worlds.world(open_id) if open_id else None
        book = _read(upload.getvalue(), upload.name)
        player = world.player if world is not None else _draw_player_field(words)
        draw_overview(words, book)
        whole = _draw_size(words, engine, book, player, world)
        into = words("world.import.open" if open_id else "world.import.new")
        if st.button(into, key="world-import-go", type="primary", icon=":material/upload:"):
            if world is None:
                world, _ = create_story_world(engine, from_book(book, language, player, whole))
                open_world(world.id)
            else:
                _add_book(engine, book, world, whole)
            st.session_state[IMPORTED] = ImportedBook(world.id, upload.name, len(book.entries), book.problems)
            window.close_page_window()


_read = lru_cache(maxsize=1)(read_book)
"""Reads the file once, although the window is drawn again with every click."""


def _draw_size(words: Words, engine: WorldEngine, book: Book, player: str, world: World | None) -> bool | None:
    lore = measure_lore(engine, book, player, world)
    if book.card is None:
        return draw_room(words, None, lore)
    there = world is not None and PREFIX in engine.files.names(world.id)
    before = engine.files.read(world.id, PREFIX).body if there and world is not None else ""
    return draw_room(words, room_for(engine, book.card, words.language, player, before), lore)


def _draw_player_field(words: Words) -> str:
    """Draws the field for the name of the user's character in a new world."""
    label, default = words("world.player"), DEFAULT_PLAYER[words.language]
    name = st.text_input(label, key="world-import-player", placeholder=default, max_chars=NAME_CHARS)
    return collapse_spaces(name or "") or default


def _add_book(engine: WorldEngine, book: Book, world: World, whole: bool | None) -> None:
    """Adds a book to a world. A story that has not begun begins with the new greeting."""
    node = add_book_to_world(engine, world, book, whole)
    if node is not None and not engine.store.session(node.session).turn_count:
        engine.store.tree.switch(node.session, node.turn, node.branch)


def render_imported_book(shown: WorldView, prefix: str = "") -> None:
    """Draws what came of the last file, until the user closes it or opens another world."""
    words, imported = shown.view.words, st.session_state.get(IMPORTED)
    if not isinstance(imported, ImportedBook) or imported.world != shown.world.id:
        st.session_state.pop(IMPORTED, None)
        st.empty()
        return
    with st.container(key=f"{prefix}world-imported", gap="xsmall"):
        with st.container(horizontal=True, vertical_alignment="center", wrap=False):
            told = words("world.imported", name=imported.name, count=imported.entries)
            st.caption(f":material/check: {escape_markdown(told)}", width="stretch")
            label, close = words("a11y.close"), partial(st.session_state.pop, IMPORTED, None)
            st.button(
                "",
                key=f"{prefix}world-imported-close",
                icon=":material/close:",
                type="tertiary",
                help=label,
                on_click=close,
            )
        if imported.problems:
            with st.expander(words("world.imported.problems", count=len(imported.problems))):
                draw_problems(words, imported.problems)


def render_book_export(view: View, about: Any) -> None:
    """Draws the window that writes a world's lorebook and character. ``about``: the world's id."""
    engine = resource.find_user_engine()
    try:
        world = engine.store.worlds.world(str(about))
    except WorldUnknown:
        window.close_page_window()
        return
    window.render_page_window(view.words("world.export"), partial(_render_book_formats, view, engine, world))


def _render_book_formats(view: View, engine: WorldEngine, world: World) -> None:
    words = view.words
    st.markdown(escape_markdown(world.name))
    st.caption(words("world.export.about"))
    name = _UNSAFE.sub(" ", world.name).strip() or world.slug
    with st.container(key="world-formats", gap="xsmall"):
        for form in FORMATS:
            data: Callable[[], bytes] = partial(_write_world_book, engine, world, form)
            label, suffix = words(f"world.format.{form}"), SUFFIXES[form]
            icon, key = ":material/download:", f"world-download-{form}"
            file = f"{name}{suffix}"
            st.download_button(
                label, data, file, _KINDS[suffix], key=key, icon=icon, on_click="ignore", width="stretch"
            )


def _write_world_book(engine: WorldEngine, world: World, form: Format) -> bytes:
    book: Book = book_of(engine, world)
    return write_book(book, form)
