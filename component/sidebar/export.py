"""The window that exports conversations: the link of one conversation, and files of one or several."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import streamlit as st

from component.chat.jump import draw_leap
from component.page import window
from component.page.catalogue import Words
from component.page.view import SESSION, View
from component.widget.moment import moment, zone
from component.work import resource
from errors import SessionUnknown
from store import Session, Store
from store.export.transcript import transcript
from store.export.zipped import zipped
from text.cut import cut_graphemes

EXPORT = "export"
ARCHIVE = "gieok.zip"
NAME_CHARS = 60
_UNSAFE = re.compile(r'[\\/:*?"<>|\x00-\x1f]+')


def draw_export(view: View, about: Sequence[str]) -> None:
    """Draws the window; ``about``: the ids of the conversations. Conversations that are gone are left out."""
    sessions = list(_sessions(view.store, about))
    if not sessions:
        window.shut()
        return
    window.draw(view.words("session.details"), lambda: _draw(view, sessions))


def _sessions(store: Store, ids: Sequence[str]) -> Iterator[Session]:
    for session_id in ids:
        try:
            yield store.session(session_id)
        except SessionUnknown:
            continue


def _draw(view: View, sessions: Sequence[Session]) -> None:
    words, agent = view.words, resource.agent()
    if len(sessions) == 1:
        _draw_one(view, sessions[0])
    else:
        st.caption(words("session.export.many", count=len(sessions)))

    def json_of(session: Session) -> str:
        return agent.export_session(session.id)

    def markdown_of(session: Session) -> str:
        return markdown(words, view.store, session.id)()

    with st.container(horizontal=True):
        _download(words("session.markdown"), sessions, markdown_of, "md", "text/markdown")
        _download(words("session.json"), sessions, json_of, "json", "application/json")


def _draw_one(view: View, session: Session) -> None:
    words = view.words
    st.caption(words("session.facts", turns=session.turn_count, moment=moment(session.updated)))
    if session.id == view.session_id:
        draw_leap(view, "export")
    st.caption(words("session.link"))
    st.code(f"{st.context.url or ''}?{SESSION}={session.id}", language=None, wrap_lines=True)


def markdown(words: Words, store: Store, session_id: str) -> partial[str]:
    """Returns a function that writes a conversation as Markdown, in the reader's language and time zone."""

    def told(error: dict[str, Any]) -> str:
        return " ".join(words.error(str(error.get("code")), str(error.get("message", "")), error.get("values") or {}))

    return partial(transcript, store, session_id, words.language, zone(), told)


def _download(
    label: str, sessions: Sequence[Session], content: Callable[[Session], str], suffix: str, kind: str
) -> None:
    """Draws the download button. The file is made on the click; several conversations become one archive."""
    name = f"{_name(sessions[0])}.{suffix}"
    data: Callable[[], str | bytes] = partial(content, sessions[0])
    if len(sessions) > 1:
        name, data, kind = ARCHIVE, partial(_packed, sessions, content, suffix), "application/zip"
    icon = ":material/download:"
    st.download_button(label, data, name, kind, key=f"download-{suffix}", icon=icon, on_click="ignore")


def _packed(sessions: Sequence[Session], content: Callable[[Session], str], suffix: str) -> bytes:
    files: dict[str, str] = {}
    for session in sessions:
        name, number = _name(session), 1
        while f"{name}.{suffix}".casefold() in map(str.casefold, files):
            number += 1
            name = f"{_name(session)} ({number})"
        files[f"{name}.{suffix}"] = content(session)
    return zipped(files)


def _name(session: Session) -> str:
    return cut_graphemes(_UNSAFE.sub(" ", session.title).strip(), NAME_CHARS) or "gieok"
