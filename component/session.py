"""What can be done with a conversation: pin, rename, export, delete with a way back; and taking others in."""

from __future__ import annotations

import re
from datetime import datetime
from functools import partial
from typing import Any, Literal
from zoneinfo import ZoneInfo

import streamlit as st

from component import resource, window
from component.catalogue import Words
from component.failure import telling
from component.jump import draw_leap
from component.markdown import plain, short
from component.overflow import Item, draw_overflow
from component.view import SESSION, View, show
from store import Session, Store
from store.portable import Imported
from store.transcript import transcript

AWAY = "session-away"
DETAILS = "details"
IMPORT = "import"
IMPORTED = "session-imported"
EMPTY_SHOWN, TITLE_CHARS = 5, 30
_UNSAFE = re.compile(r'[\\/:*?"<>|\x00-\x1f]+')


def draw_session_menu(view: View, session: Session) -> None:
    """The menu of the open conversation."""
    words = view.words
    pin, icon = ("unpin", "keep_off") if session.pinned else ("pin", "keep")
    choices = {
        "pin": Item(words(f"session.{pin}"), icon, partial(view.store.pin_session, session.id, not session.pinned)),
        "details": Item(words("session.details"), "edit", partial(window.ask, DETAILS)),
        "delete": Item(words("session.delete"), "delete", partial(_delete, view, session)),
    }
    draw_overflow(f"session-menu-{session.id}", choices, upright=True)


def _delete(view: View, session: Session) -> None:
    """Off the list at once, and for good after some days; a running answer ends, and what waits is not sent."""
    view.store.put_away(session.id)
    job = view.jobs.of(session.id)
    if job is not None:
        job.stop.set()
    show(None)
    st.session_state[AWAY] = session


def draw_details(view: View, about: object = None) -> None:
    """The window of the open conversation: its title, its address, its files."""
    session = view.session
    if session is None:
        window.shut()
        return
    window.draw(view.words("session.details"), lambda: _draw_details(view, session))


def _draw_details(view: View, session: Session) -> None:
    words, agent = view.words, resource.agent()
    with st.form("title", border=False):  # Enter saves, too
        title = st.text_input(words("session.title"), session.title, max_chars=60, key=f"title-{session.id}")
        saved = st.form_submit_button(words("revision.save"), key="title-save", type="primary")
    if saved:
        with telling(words):
            view.store.rename_session(session.id, title)
            window.shut()
    st.caption(words("session.facts", turns=session.turn_count, moment=moment(session.updated)))
    draw_leap(view, "details")
    st.caption(words("session.link"))
    st.code(f"{st.context.url or ''}?{SESSION}={session.id}", language=None, wrap_lines=True)
    name = _UNSAFE.sub(" ", session.title).strip()[:60] or "gieok"
    with st.container(horizontal=True):
        _download(words("session.markdown"), markdown(words, view.store, session.id), f"{name}.md", "text/markdown")
        _download(words("session.json"), partial(agent.export_session, session.id), f"{name}.json", "application/json")


def markdown(words: Words, store: Store, session_id: str) -> partial[str]:
    """What makes a conversation's Markdown, in the reader's language and by the reader's clock."""

    def told(error: dict[str, Any]) -> str:
        return " ".join(words.error(str(error.get("code")), str(error.get("message", "")), error.get("values") or {}))

    return partial(transcript, store, session_id, words.language, _zone(), told)


def _download(label: str, data: partial[str], name: str, kind: str) -> None:
    """The file is made when it is asked for."""
    icon = ":material/download:"
    st.download_button(label, data, name, kind, key=f"download-{kind}", icon=icon, on_click="ignore")


def ask_import() -> None:
    """Opens the window in which conversations are taken in."""
    window.ask(IMPORT)


def draw_import(view: View, about: object = None) -> None:
    """That window."""
    window.draw(view.words("session.import"), lambda: _draw_import(view))


def _draw_import(view: View) -> None:
    words = view.words
    st.caption(words("session.import.about"))
    given = st.file_uploader(words("session.import.file"), type=["json", "zip"], key="import-file")
    if given is None or not st.button(words("session.import.go"), key="import-go", type="primary"):
        return
    with telling(words):
        made = resource.agent().import_sessions(given.getvalue())
        if made.sessions:
            window.shut()
            show(made.sessions[0])
            st.session_state[IMPORTED] = made
            st.rerun()
        st.warning(plain(_imported(words, made)), icon=":material/info:")


def draw_imported(view: View) -> None:
    """What came of an import, until another conversation is opened."""
    made: Imported | None = st.session_state.get(IMPORTED)
    if made is None or view.session_id != made.sessions[0]:
        st.session_state.pop(IMPORTED, None)
        st.empty()
        return
    with st.container(key="imported"):
        st.caption(f":material/check: {plain(_imported(view.words, made))}")


def _imported(words: Words, made: Imported) -> str:
    """How many conversations there are now, and which had nothing in them."""
    parts = [words("session.imported", count=len(made.sessions))] if made.sessions else []
    if made.empty:
        titles = ", ".join(short(" ".join(title.split()), TITLE_CHARS) or "–" for title in made.empty[:EMPTY_SHOWN])
        more = " …" if len(made.empty) > EMPTY_SHOWN else ""
        parts.append(words("session.import.empty", count=len(made.empty), titles=titles + more))
    return " ".join(parts)


Age = Literal["pinned", "today", "yesterday", "week", "older"]


def age(session: Session) -> Age:
    """Which part of the list a conversation stands in, by the reader's own calendar."""
    if session.pinned:
        return "pinned"
    zone = _zone()
    days = (datetime.now(zone).date() - datetime.fromtimestamp(session.updated, zone).date()).days
    return "today" if days <= 0 else "yesterday" if days == 1 else "week" if days < 7 else "older"


def moment(seconds: float) -> str:
    """A time by the reader's own clock."""
    return f"{datetime.fromtimestamp(seconds, _zone()):%Y-%m-%d %H:%M}"


def _zone() -> ZoneInfo | None:
    try:
        return ZoneInfo(st.context.timezone or "")
    except (ValueError, KeyError, OSError):
        return None
