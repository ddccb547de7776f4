"""Imports conversations from files: what a file would bring, before it is imported, and what came of it."""

from __future__ import annotations

from typing import cast

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from component.page import window
from component.page.catalogue import Words
from component.page.view import View, show_session
from component.panel.rewrite_offer import describe_price
from component.widget.failure import render_raised_error
from component.widget.markdown import escape_markdown, shorten_text
from component.widget.moment import format_reader_moment
from component.work import resource
from graph.summary.rewrite import estimate_offer
from store.export.portable import ImportedSessions
from store.export.preview import ImportPreview
from text.clean import collapse_spaces

IMPORT = "import"
IMPORTED, PREVIEW = "session-imported", "import-preview"
"""Session-state keys: what came of the last import, and the id of the chosen file with what it would bring."""
EMPTY_SHOWN, TITLE_CHARS, DAY_CHARS = 5, 30, len("2026-01-31")


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
    if upload is None:
        return
    with render_raised_error(words):
        preview = _load_preview(upload)
        if not preview.chats:
            st.warning(escape_markdown(_format_import_result(words, 0, preview)), icon=":material/info:")
            return
        _render_preview(view, preview)
        with st.container(horizontal=True, gap="small"):
            is_wanted = st.button(words("session.import.go"), key="import-go", type="primary")
            st.button(words("chat.withdraw"), key="import-not", on_click=window.close_page_window)
        if is_wanted:
            imported = resource.find_user_agent().import_sessions(upload.getvalue())
            st.session_state.pop(PREVIEW, None)
            window.close_page_window()
            show_session(imported.sessions[0])
            st.session_state[IMPORTED] = imported
            st.rerun()


def _load_preview(upload: UploadedFile) -> ImportPreview:
    """Returns what the file would bring; a file is read once, not with every run of the window."""
    file_id, preview = st.session_state.get(PREVIEW, ("", None))
    if preview is None or file_id != upload.file_id:
        preview = resource.find_user_agent().preview_import(upload.getvalue())
        st.session_state[PREVIEW] = (upload.file_id, preview)
    return cast("ImportPreview", preview)


def _render_preview(view: View, preview: ImportPreview) -> None:
    """Draws what the file would bring, where it lands, and what its summaries take."""
    words = view.words
    facts = [words("session.import.found", chats=preview.chats, turns=preview.turns)]
    if preview.first is not None and preview.last is not None:
        first, last = (format_reader_moment(moment)[:DAY_CHARS] for moment in (preview.first, preview.last))
        facts.append(words("session.import.days", first=first, last=last) if first != last else first)
    st.markdown(f"**{escape_markdown(' · '.join(facts))}**")
    lines = [words("session.import.lands")]
    if preview.stories:
        lines.append(words("session.import.stories", count=preview.stories))
    if preview.summaries:
        lines.append(words("session.import.extracted"))
        models = view.status.models
        if models is not None and models.side.summaries == "model":
            offer = estimate_offer(models, preview.summaries, preview.tokens, preview.written)
            lines.append(words("session.import.model", count=offer.count, price=describe_price(words, offer)))
    if preview.empty or preview.faults:
        lines.append(_format_import_result(words, 0, preview))
    with st.container(key="import-preview", gap="xsmall"):
        for line in lines:
            st.caption(escape_markdown(line))


def render_import_result(view: View) -> None:
    """Draws the result of an import, until the user opens another conversation."""
    imported: ImportedSessions | None = st.session_state.get(IMPORTED)
    if imported is None or view.session_id != imported.sessions[0]:
        st.session_state.pop(IMPORTED, None)
        st.empty()
        return
    with st.container(key="imported"):
        st.caption(
            f":material/check: {escape_markdown(_format_import_result(view.words, len(imported.sessions), imported))}"
        )


def _format_import_result(words: Words, count: int, made: ImportedSessions | ImportPreview) -> str:
    """Returns how many conversations were imported, which ones were empty, and why others were left out."""
    parts = [words("session.imported", count=count)] if count else []
    if made.empty:
        titles = ", ".join(
            shorten_text(collapse_spaces(title), TITLE_CHARS) or "–" for title in made.empty[:EMPTY_SHOWN]
        )
        more = " …" if len(made.empty) > EMPTY_SHOWN else ""
        parts.append(words("session.import.empty", count=len(made.empty), titles=titles + more))
    if made.faults:
        first = made.faults[0]
        problem, _ = words.error(first.code, str(first), first.values)
        parts.append(words("session.import.faults", count=len(made.faults), problem=problem))
    return " ".join(parts) or words("session.import.none")
