"""The window that exports conversations: the link of one conversation, and files of one or several."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Sequence
from functools import partial
from typing import Any

import streamlit as st

from component.chat.jump import draw_leap
from component.page import window
from component.page.catalogue import Words
from component.page.view import SESSION, View
from component.widget.moment import find_reader_zone, format_reader_moment
from component.work import resource
from errors import SessionUnknown
from store import Session, Store
from store.export.transcript import render_transcript
from store.export.web_page import load_page_images, render_web_page
from store.export.zipped import build_zip
from text.cut import cut_graphemes

EXPORT = "export"
ARCHIVE = "gieok.zip"
NAME_CHARS = 60
_UNSAFE = re.compile(r'[\\/:*?"<>|\x00-\x1f]+')


def render_session_export(view: View, about: Sequence[str]) -> None:
    """Draws the window; ``about``: the ids of the conversations. Conversations that are gone are left out."""
    sessions = list(_load_existing_sessions(view.store, about))
    if not sessions:
        window.close_page_window()
        return
    window.render_page_window(view.words("session.details"), lambda: _render_export_content(view, sessions))


def _load_existing_sessions(store: Store, ids: Sequence[str]) -> Iterator[Session]:
    for session_id in ids:
        try:
            yield store.session(session_id)
        except SessionUnknown:
            continue


def _render_export_content(view: View, sessions: Sequence[Session]) -> None:
    words, agent = view.words, resource.find_user_agent()
    if len(sessions) == 1:
        _draw_one(view, sessions[0])
    else:
        st.caption(words("session.export.many", count=len(sessions)))

    def json_of(session: Session) -> str:
        return agent.export_session(session.id)

    def markdown_of(session: Session) -> str:
        return build_markdown_writer(words, view.store, session.id)()

    def page_of(session: Session) -> str:
        images = load_page_images(view.store, session.id)
        return render_web_page(build_markdown_writer(words, view.store, session.id, images)(), words.language, images)

    with st.container(horizontal=True):
        _render_download_button(words("session.markdown"), sessions, markdown_of, "md", "text/markdown")
        _render_download_button(words("session.page"), sessions, page_of, "html", "text/html")
        _render_download_button(words("session.json"), sessions, json_of, "json", "application/json")


def _draw_one(view: View, session: Session) -> None:
    words = view.words
    st.caption(words("session.facts", turns=session.turn_count, moment=format_reader_moment(session.updated)))
    if session.id == view.session_id:
        draw_leap(view, "export")
    st.caption(words("session.link"))
    st.code(f"{st.context.url or ''}?{SESSION}={session.id}", language=None, wrap_lines=True)


def build_markdown_writer(
    words: Words, store: Store, session_id: str, images: Container[str] | None = None
) -> partial[str]:
    """Returns a function that writes a conversation as Markdown, in the reader's language and time zone.
    ``images``: as of ``render_transcript``."""

    def render_error_line(error: dict[str, Any]) -> str:
        return " ".join(words.error(str(error.get("code")), str(error.get("message", "")), error.get("values") or {}))

    return partial(render_transcript, store, session_id, words.language, find_reader_zone(), render_error_line, images)


def _render_download_button(
    label: str, sessions: Sequence[Session], content: Callable[[Session], str], suffix: str, kind: str
) -> None:
    """Draws the download button. The file is made on the click; several conversations become one archive."""
    name = f"{_build_file_name(sessions[0])}.{suffix}"
    data: Callable[[], str | bytes] = partial(content, sessions[0])
    if len(sessions) > 1:
        name, data, kind = ARCHIVE, partial(_pack_sessions, sessions, content, suffix), "application/zip"
    icon = ":material/download:"
    st.download_button(label, data, name, kind, key=f"download-{suffix}", icon=icon, on_click="ignore")


def _pack_sessions(sessions: Sequence[Session], content: Callable[[Session], str], suffix: str) -> bytes:
    files: dict[str, str] = {}
    for session in sessions:
        name, number = _build_file_name(session), 1
        while f"{name}.{suffix}".casefold() in map(str.casefold, files):
            number += 1
            name = f"{_build_file_name(session)} ({number})"
        files[f"{name}.{suffix}"] = content(session)
    return build_zip(files)


def _build_file_name(session: Session) -> str:
    return cut_graphemes(_UNSAFE.sub(" ", session.title).strip(), NAME_CHARS).rstrip(" .") or "gieok"
