"""Deleted conversations: the notice in a deleted conversation that is opened all the same, and the list."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from component.memory.memory_change import draw_said, run_reported_action
from component.page import window
from component.page.view import View, run_page_action, show_session
from component.widget.failure import render_raised_error
from component.widget.markdown import escape_markdown, shorten_text
from component.widget.moment import format_reader_moment
from component.widget.undo import forget_undo
from component.work import resource
from graph.turn.session.trash import DAYS
from store import Session
from text.clean import collapse_spaces

NAME = "trash"
ASKED = "trash-asked"
PLACE = "trash"
MOST = 100
TITLE_CHARS = 40


def draw_deleted(view: View) -> None:
    """Draws the notice in a conversation that was deleted, with the button that restores the conversation. Such a
    conversation is open when another tab deleted it or a link led to it."""
    if view.session is None or view.session.deleted is None:
        st.empty()
        return
    words, session = view.words, view.session
    with st.container(key="deleted"):
        st.warning(f"**{words('trash.here')}**  \n{words('trash.here.hint')}", icon=":material/delete:")
        back = partial(run_page_action, partial(_restore_trashed_session, view, session.id))
        st.button(words("trash.restore"), key="restore", icon=":material/undo:", on_click=back)


def draw_trash(view: View, about: object = None) -> None:
    """Draws the window with the list."""
    leave = partial(st.session_state.pop, ASKED, None)
    window.render_page_window(view.words("trash.title"), lambda: _render_trash_content(view), leave=leave)


def _render_trash_content(view: View) -> None:
    with render_raised_error(view.words):
        _render_trash_list(view)


def _render_trash_list(view: View) -> None:
    words = view.words
    st.caption(words("trash.about", days=DAYS))
    draw_said(words, PLACE)
    sessions = resource.find_user_agent().store.put_away_sessions(MOST)
    if not sessions:
        st.caption(words("trash.none"))
    for session in sessions:
        with st.container(key=f"away-{session.id}", border=True, gap="xsmall"):
            _render_trash_row(view, session)


def _render_trash_row(view: View, session: Session) -> None:
    words = view.words
    facts = words("trash.facts", turns=session.turn_count, moment=format_reader_moment(session.deleted or 0.0))
    st.markdown(
        f"{escape_markdown(_format_trash_title(view, session, TITLE_CHARS))}  \n:gray[:small[{escape_markdown(facts)}]]"
    )
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if st.session_state.get(ASKED) == session.id:
            _render_erase_question(view, session)
            return
        back = partial(_run_trash_action, partial(_restore_trashed_session, view, session.id))
        st.button(words("trash.restore"), key=f"restore-{session.id}", icon=":material/undo:", on_click=back)
        ask = partial(st.session_state.__setitem__, ASKED, session.id)
        icon = ":material/delete_forever:"
        st.button(words("trash.erase"), key=f"erase-{session.id}", type="tertiary", icon=icon, on_click=ask)


def _render_erase_question(view: View, session: Session) -> None:
    """Asks in the conversation's row before the conversation is erased for good."""
    words = view.words
    st.markdown(escape_markdown(words(f"trash.erase.about{_choose_question_suffix(session)}")), width="stretch")
    erase = partial(_run_trash_action, partial(_erase_trashed_session, session.id), "trash.erased")
    st.button(words("trash.erase"), key="erase-yes", type="primary", on_click=erase)
    leave = partial(st.session_state.pop, ASKED, None)
    st.button(words("trash.erase.no"), key="erase-no", on_click=leave)


def _choose_question_suffix(session: Session) -> str:
    """Returns the suffix of the question's key for a conversation whose content memory keeps, as the user chose."""
    agent = resource.find_user_agent()
    forgets = agent.memory.reader.forgets(agent.tenant, session.id) if agent.memory is not None else None
    return ".kept" if forgets is False else ""


def _run_trash_action(action: Callable[[], None], done: str = "") -> None:
    run_reported_action(PLACE, action, done)


def _erase_trashed_session(session: str) -> None:
    resource.find_user_agent().delete_session(session)
    resource.side_calls().dismiss_session(session)
    forget_undo()  # the undo may offer to restore this conversation


def _restore_trashed_session(view: View, session: str) -> None:
    resource.find_user_agent().restore(session)
    forget_undo()
    st.session_state.pop(ASKED, None)
    window.close_page_window()
    show_session(session)


def _format_trash_title(view: View, session: Session, chars: int) -> str:
    return shorten_text(collapse_spaces(session.title), chars) or view.words("session.new")
