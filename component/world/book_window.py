"""Lorebooks and character cards: the window that reads a file of another program, and the one that writes them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from component.page import window
from component.page.catalogue import Words
from component.page.view import View
from component.widget.failure import telling
from component.widget.markdown import plain
from component.work import resource
from component.world.view import WORLD, WorldView, show_world
from errors import WorldUnknown
from store.world.record import World
from store.world.worlds import DEFAULT_PLAYER
from world.beginning import book_of, found, from_book, take_in
from world.book import FORMATS, Book, Format, read_book, write_book
from world.book.field import Problem
from world.book.write import SUFFIXES
from world.engine import Engine

IMPORT, EXPORT = "import", "export"
IMPORTED = "world-imported"
SHOWN_PROBLEMS = 100
_UNSAFE = re.compile(r'[\\/:*?"<>|\x00-\x1f]+')
_KINDS = {".json": "application/json", ".png": "image/png", ".charx": "application/zip"}


@dataclass(frozen=True, slots=True)
class Imported:
    """What came of a file: into which world, how many entries, and what was wrong with others."""

    world: str
    name: str
    entries: int
    problems: tuple[Problem, ...]


def draw_import(view: View, about: object = None) -> None:
    """Draws the window that reads a file, into the open world or into a new one."""
    window.draw(view.words("world.import"), lambda: _draw_import(view))


def _draw_import(view: View) -> None:
    words, open_id = view.words, st.query_params.get(WORLD)
    st.caption(words("world.import.about"))
    kinds = ["json", "png", "charx"]
    upload = st.file_uploader(words("world.import.file"), type=kinds, key="world-import-file", max_upload_size=30)
    into = words("world.import.open" if open_id else "world.import.new")
    if upload is None or not st.button(into, key="world-import-go", type="primary", icon=":material/upload:"):
        return
    with telling(words):
        _take(view, upload, open_id)
        window.shut()


def _take(view: View, upload: UploadedFile, open_id: str | None) -> None:
    """Reads the file and turns the page to the world that has it now."""
    engine, language = resource.engine(), view.words.language
    if open_id:
        world = engine.store.worlds.world(open_id)
        book = read_book(upload.getvalue(), upload.name, world.player)
        node = take_in(engine, world, book)
    else:
        player = DEFAULT_PLAYER[language]
        book = read_book(upload.getvalue(), upload.name, player)
        world, node = found(engine, from_book(book, language, player))
    if node is not None or not open_id:
        show_world(world.id, node.id if node else 0)
    st.session_state[IMPORTED] = Imported(world.id, upload.name, len(book.entries), book.problems)


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
                st.markdown("\n".join(f"- {_told(words, one)}" for one in imported.problems[:SHOWN_PROBLEMS]))


def _told(words: Words, problem: Problem) -> str:
    """Returns where something was wrong, and what."""
    plainly = replace(problem, place="").text
    reason = words.reason("bad_book", {**problem.values, "reason": plainly, "reason_code": problem.code})
    return plain(": ".join(filter(None, (problem.place, reason))))


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
