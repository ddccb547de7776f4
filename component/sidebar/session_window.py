"""The window that renames the open conversation or moves it into a folder: what the menu of its row does, for whoever
has no list in sight."""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st

from component.page import window
from component.page.view import View, run_page_action
from component.sidebar.session_list import put_into_folder
from component.widget.markdown import sanitize_text
from component.work import resource
from store import Session

NAME, FIELD = "session", "session-field"
NAME_CHARS = 60


def ask_rename() -> None:
    """Opens the window with the title."""
    _open_session_window("rename")


def ask_move() -> None:
    """Opens the window with the folders."""
    _open_session_window("move")


def _open_session_window(about: str) -> None:
    st.session_state.pop(FIELD, None)
    window.open_page_window(NAME, about)


def render_session_window(view: View, about: Any) -> None:
    """Draws the window. ``about``: "rename" or "move"."""
    session = view.session
    if session is None:
        window.close_page_window()
        return
    draw = _render_rename_form if about == "rename" else _render_move_form
    window.render_page_window(view.words(f"session.{about}"), partial(draw, view, session))


def _render_rename_form(view: View, session: Session) -> None:
    label = view.words("session.rename")
    with st.form("session-rename", border=False):
        title = sanitize_text(session.title)
        st.text_input(label, title, key=FIELD, max_chars=NAME_CHARS, label_visibility="collapsed")
        _render_form_buttons(view, partial(_rename_session, session))


def _render_move_form(view: View, session: Session) -> None:
    words, folders = view.words, resource.find_user_agent().store.folders.all()
    names = {"": words("session.move.out"), **{folder.id: sanitize_text(folder.name) for folder in folders}}
    options = [option for option in names if option != session.folder]
    with st.form("session-move", border=False):
        st.selectbox(
            words("folder.name"),
            options,
            index=None,
            key=FIELD,
            format_func=lambda option: names.get(option, option),
            placeholder=words("session.move.choose"),
            accept_new_options=True,
        )
        _render_form_buttons(view, partial(_move_session, view, session))


def _render_form_buttons(view: View, save: partial[None]) -> None:
    with st.container(horizontal=True, gap="small"):
        st.form_submit_button(view.words("revision.save"), type="primary", on_click=save)
        st.form_submit_button(view.words("chat.withdraw"), on_click=window.close_page_window)


def _rename_session(session: Session) -> None:
    title = str(st.session_state.get(FIELD) or "")
    window.close_page_window()
    run_page_action(partial(resource.find_user_agent().store.rename_session, session.id, title))


def _move_session(view: View, session: Session) -> None:
    chosen = st.session_state.get(FIELD)
    window.close_page_window()
    if chosen is not None:
        run_page_action(partial(_put_session_into, view, session, str(chosen)))


def _put_session_into(view: View, session: Session, chosen: str) -> None:
    """Moves the conversation into a folder by its id, into a new one by its name, or with "" out of its folder."""
    folders = resource.find_user_agent().store.folders
    if chosen and chosen not in {folder.id for folder in folders.all()}:
        created = folders.create(chosen)
        if created is None:
            return
        chosen = created.id
    put_into_folder(view, [session.id], chosen)
