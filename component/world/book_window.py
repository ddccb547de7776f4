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
from component.widget.failure import telling
from component.widget.markdown import plain
from component.work import resource
from component.world.import_view import draw_overview, draw_problems, draw_room
from component.world.view import WORLD, WorldView, show_world
from errors import WorldUnknown
from store.world.record import World
from store.world.worlds import DEFAULT_PLAYER
from text.language import Language
from world.beginning import book_of, found, from_book, room_for, take_in
from world.book import FORMATS, Book, Format, read_book, write_book
from world.book.field import Problem
from world.book.write import SUFFIXES
from world.engine import Engine
from world.file import PREFIX

IMPORT, EXPORT = "import", "export"
IMPORTED = "world-imported"
KINDS = ["json", "png", "apng", "charx", "jpg", "jpeg", "lorebook"]
"""Endings of files that the window takes."""
_UNSAFE = re.compile(r'[\\/:*?"<>|\x00-\x1f]+')
_JSON = "application/json"
_KINDS = {".json": _JSON, ".lorebook": _JSON, ".png": "image/png", ".charx": "application/zip"}


@dataclass(frozen=True, slots=True)
class Imported:
    """What came of a file: into which world, how many entries, and what was wrong with others."""

    world: str
    name: str
    entries: int
    problems: tuple[Problem, ...]


def draw_import(view: View, about: object = None) -> None:
    """Draws the window that reads a file, into the open world or into a new one."""
    window.draw(view.words("world.import"), lambda: _draw_import(view), width="medium")


def _draw_import(view: View) -> None:
    """Draws the field for the file; of a file that can be read what comes over, before it does."""
    words, open_id = view.words, st.query_params.get(WORLD)
    st.caption(words("world.import.about"))
    upload = st.file_uploader(words("world.import.file"), type=KINDS, key="world-import-file", max_upload_size=30)
    if upload is None:
        return
    with telling(words):
        engine, language = resource.engine(), words.language
        world = engine.store.worlds.world(open_id) if open_id else None
        book = _read(upload.getvalue(), upload.name)
        player = world.player if world is not None else DEFAULT_PLAYER[language]
        draw_overview(words, book, player)
        whole = _draw_size(words, engine, book, player, world)
        into = words("world.import.open" if open_id else "world.import.new")
        if st.button(into, key="world-import-go", type="primary", icon=":material/upload:"):
            _take(engine, book, upload.name, world, language, whole)
            window.shut()


_read = lru_cache(maxsize=1)(read_book)
"""Reads the file once, although the window is drawn again with every click."""


def _draw_size(words: Words, engine: Engine, book: Book, player: str, world: World | None) -> bool | None:
    if book.card is None:
        return None
    there = world is not None and PREFIX in engine.files.names(world.id)
    before = engine.files.read(world.id, PREFIX).body if there and world is not None else ""
    return draw_room(words, room_for(engine, book.card, words.language, player, before))


def _take(engine: Engine, book: Book, name: str, world: World | None, language: Language, whole: bool | None) -> None:
    """Imports a book and turns the page to the world that has it now."""
    if world is not None:
        node, is_new = take_in(engine, world, book, whole), False
    else:
        world, node = found(engine, from_book(book, language, DEFAULT_PLAYER[language], whole))
        is_new = True
    if node is not None or is_new:
        show_world(world.id, node.id if node else 0)
    st.session_state[IMPORTED] = Imported(world.id, name, len(book.entries), book.problems)


def draw_imported(shown: WorldView) -> None:
    """Draws what came of the last file, until the user closes it or opens another world."""
    words, imported = shown.view.words, st.session_state.get(IMPORTED)
    if not isinstance(imported, Imported) or imported.world != shown.world.id:
        st.session_state.pop(IMPORTED, None)
        st.empty()
        return
    with st.container(key="world-imported", gap="xsmall"):
        with st.container(horizontal=True, vertical_alignment="center", wrap=False):
            told = words("world.imported", name=imported.name, count=imported.entries)
            st.caption(f":material/check: {plain(told)}", width="stretch")
            label, close = words("a11y.close"), partial(st.session_state.pop, IMPORTED, None)
            st.button(
                "", key="world-imported-close", icon=":material/close:", type="tertiary", help=label, on_click=close
            )
        if imported.problems:
            with st.expander(words("world.imported.problems", count=len(imported.problems))):
                draw_problems(words, imported.problems)


def draw_export(view: View, about: Any) -> None:
    """Draws the window that writes a world's lorebook and character. ``about``: the world's id."""
    engine = resource.engine()
    try:
        world = engine.store.worlds.world(str(about))
    except WorldUnknown:
        window.shut()
        return
    window.draw(view.words("world.export"), partial(_draw_export, view, engine, world))


def _draw_export(view: View, engine: Engine, world: World) -> None:
    words = view.words
    st.markdown(plain(world.name))
    st.caption(words("world.export.about"))
    name = _UNSAFE.sub(" ", world.name).strip() or world.slug
    with st.container(key="world-formats", gap="xsmall"):
        for form in FORMATS:
            data: Callable[[], bytes] = partial(_written, engine, world, form)
            label, suffix = words(f"world.format.{form}"), SUFFIXES[form]
            icon, key = ":material/download:", f"world-download-{form}"
            file = f"{name}{suffix}"
            st.download_button(
                label, data, file, _KINDS[suffix], key=key, icon=icon, on_click="ignore", width="stretch"
            )


def _written(engine: Engine, world: World, form: Format) -> bytes:
    book: Book = book_of(engine, world)
    return write_book(book, form)
