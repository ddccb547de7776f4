"""Imports conversations from files, and shows times in the reader's own time zone."""

from __future__ import annotations

import streamlit as st

from component.page import window
from component.page.catalogue import Words
from component.page.view import View, show_session
from component.widget.failure import render_raised_error
from component.widget.markdown import escape_markdown, shorten_text
from component.work import resource
from store.export.portable import ImportedSessions

IMPORT = "import"
IMPORTED = "session-imported"
EMPTY_SHOWN, TITLE_CHARS = 5, 30


def ask_import() -> None:
    """Opens the window that imports conversations."""
    window.open_page_window(IMPORT)


def render_session_import(view: View, about: object = None) -> None:
    """Draws the window."""
    window.render_page_window(view.words("session.import"), lambda: _render_session_import_form(view))


def _render_session_import_form(view: View) -> None:
    words = view.words
    st.caption(words("session.import.about"))
    upload = st.file_uploader(words("session.import.file"), type=["json", "jsonl", "zip"], key="import-file")
    if upload is None or not st.button(words("session.import.go"), key="import-go", type="primary"):
        return
    with render_raised_error(words):
        imported = resource.find_user_agent().import_sessions(upload.getvalue())
        if imported.sessions:
            window.close_page_window()
            show_session(imported.sessions[0])
            st.session_state[IMPORTED] = imported
            st.rerun()
        st.warning(escape_markdown(_format_import_result(words, imported)), icon=":material/info:")


def render_import_result(view: View) -> None:
    """Draws the result of an import, until the user opens another conversation."""
    imported: ImportedSessions | None = st.session_state.get(IMPORTED)
    if imported is None or view.session_id != imported.sessions[0]:
        st.session_state.pop(IMPORTED, None)
        st.empty()
        return
    with st.container(key="imported"):
        st.caption(f":material/check: {escape_markdown(_format_import_result(view.words, imported))}")


def _format_import_result(words: Words, made: ImportedSessions) -> str:
    """Returns how many conversations were imported, which ones were empty, and why others were left out."""
    parts = [words("session.imported", count=len(made.sessions))] if made.sessions else []
    if made.empty:
        titles = ", ".join(
            shorten_text(" ".join(title.split()), TITLE_CHARS) or "–" for title in made.empty[:EMPTY_SHOWN]
        )
        more = " …" if len(made.empty) > EMPTY_SHOWN else ""
        parts.append(words("session.import.empty", count=len(made.empty), titles=titles + more))
    if made.faults:
        first = made.faults[0]
        problem, _ = words.error(first.code, str(first), first.values)
        parts.append(words("session.import.faults", count=len(made.faults), problem=problem))
    return " ".join(parts) or words("session.import.none")
