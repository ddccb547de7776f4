"""Deleting conversations: the question whether memory forgets them too, and the undo."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import streamlit as st

from component.page import window
from component.page.view import View, show_session
from component.widget.failure import render_raised_error
from component.widget.markdown import escape_markdown, shorten_text
from component.widget.title import listed_title
from component.widget.undo import keep_undo
from component.work import resource
from errors import SessionUnknown
from graph.turn.session.trash import DAYS

DELETE = "delete"
"""The name of the window."""
TITLE_CHARS = 60


def ask_delete(session_ids: Sequence[str], view: View) -> None:
    """Asks whether memory is to forget these conversations too. Deletes them at once when no other conversation shares
    their memory."""
    agent = resource.find_user_agent()
    memory = agent.memory if agent.settings.user_memory else None
    if memory is None or all(_is_apart(session_id) for session_id in session_ids):
        _put_sessions_away(view, session_ids, forget=True, tell=False)
    else:
        window.open_page_window(DELETE, tuple(session_ids))


def _is_apart(session_id: str) -> bool:
    """Returns whether no other conversation knows what was told in this one."""
    agent = resource.find_user_agent()
    with suppress(SessionUnknown):
        if agent.store.session(session_id).world:
            return True
    return agent.memory is None or agent.memory.reader.is_apart(agent.tenant, session_id)


def render_session_deletion(view: View, about: Any) -> None:
    """Draws the question before conversations are deleted. ``about``: their ids."""
    title = view.words("delete.title.many", count=len(about)) if len(about) > 1 else view.words("delete.title")
    window.render_page_window(title, lambda: _render_deletion_question(view, about))


def _render_deletion_question(view: View, session_ids: Sequence[str]) -> None:
    words = view.words
    if len(session_ids) == 1:
        st.markdown(escape_markdown(_find_session_title(view, session_ids[0])))
    st.caption(words("delete.about", days=DAYS))
    forget = st.checkbox(words("delete.forget"), value=True, key="delete-forget", help=words("delete.forget.about"))
    with st.container(horizontal=True, gap="small"):
        if st.button(words("session.delete"), key="delete-go", type="primary", icon=":material/delete:"):
            with render_raised_error(words):
                _put_sessions_away(view, session_ids, forget=forget, tell=forget)
                window.close_page_window()
        st.button(words("trash.erase.no"), key="delete-not", on_click=window.close_page_window)


def _find_session_title(view: View, session_id: str) -> str:
    with suppress(SessionUnknown):
        return listed_title(view.words, resource.find_user_agent().store.session(session_id).title, TITLE_CHARS)
    return view.words("session.new")


def _put_sessions_away(view: View, session_ids: Sequence[str], *, forget: bool, tell: bool) -> None:
    """Takes the conversations off the list at once; they are erased after some days. Stops their running answers and
    does not send their waiting messages. ``tell``: the notice also says what memory has forgotten."""
    text = _format_deletion_notice(view, session_ids)
    for session_id in session_ids:
        with suppress(SessionUnknown):  # erased in another tab
            resource.find_user_agent().put_away(session_id, forget)
        if (job := resource.find_user_jobs().of(session_id)) is not None:
            job.stop.set()
        resource.side_calls().dismiss_session(session_id)
    was_open = view.session_id if view.session_id in session_ids else None
    if was_open:
        show_session(None)
    if tell:
        text += f" {view.words('session.deleted.forgotten')}"
    keep_undo(text, partial(_restore_sessions, session_ids, was_open))


def _format_deletion_notice(view: View, session_ids: Sequence[str]) -> str:
    if len(session_ids) > 1:
        return view.words("session.deleted.many", count=len(session_ids))
    return view.words("session.deleted", title=shorten_text(_find_session_title(view, session_ids[0]), 20))


def _restore_sessions(session_ids: Sequence[str], was_open: str | None) -> None:
    for session_id in session_ids:
        with suppress(SessionUnknown):
            resource.find_user_agent().restore(session_id)
    if was_open:
        show_session(was_open)
