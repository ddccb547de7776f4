"""Imports conversations from files, and shows times in the reader's own time zone."""

from __future__ import annotations

import streamlit as st

from component.page import window
from component.page.catalogue import Words
from component.page.view import View, show
from component.widget.failure import telling
from component.widget.markdown import plain, short
from component.work import resource
from store.export.portable import Imported

IMPORT = "import"
IMPORTED = "session-imported"
EMPTY_SHOWN, TITLE_CHARS = 5, 30


def ask_import() -> None:
    """Opens the window that imports conversations."""
    window.ask(IMPORT)


def draw_import(view: View, about: object = None) -> None:
    """Draws the window."""
    window.draw(view.words("session.import"), lambda: _draw_import(view))


def _draw_import(view: View) -> None:
    words = view.words
    st.caption(words("session.import.about"))
    upload = st.file_uploader(words("session.import.file"), type=["json", "zip"], key="import-file")
    if upload is None or not st.button(words("session.import.go"), key="import-go", type="primary"):
        return
    with telling(words):
        imported = resource.agent().import_sessions(upload.getvalue())
        if imported.sessions:
            window.shut()
            show(imported.sessions[0])
            st.session_state[IMPORTED] = imported
            st.rerun()
        st.warning(plain(_imported(words, imported)), icon=":material/info:")


def draw_imported(view: View) -> None:
    """Draws the result of an import, until the user opens another conversation."""
    imported: Imported | None = st.session_state.get(IMPORTED)
    if imported is None or view.session_id != imported.sessions[0]:
        st.session_state.pop(IMPORTED, None)
        st.empty()
        return
    with st.container(key="imported"):
        st.caption(f":material/check: {plain(_imported(view.words, imported))}")


def _imported(words: Words, made: Imported) -> str:
    """Returns how many conversations were imported, and which conversations were empty."""
    parts = [words("session.imported", count=len(made.sessions))] if made.sessions else []
    if made.empty:
        titles = ", ".join(short(" ".join(title.split()), TITLE_CHARS) or "–" for title in made.empty[:EMPTY_SHOWN])
        more = " …" if len(made.empty) > EMPTY_SHOWN else ""
        parts.append(words("session.import.empty", count=len(made.empty), titles=titles + more))
    return " ".join(parts)
