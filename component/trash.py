"""Deleted conversations: the line after a deletion, the notice in one that is opened all the same, and the list."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

import settings
from component import resource, window
from component.failure import telling
from component.markdown import plain, short
from component.owner import attempt, draw_said
from component.session import AWAY, moment
from component.view import View, show, trying
from store import Session

NAME = "trash"
ASKED = "trash-asked"
PLACE = "trash"
MOST = 100
TITLE_CHARS = 40


def draw_undo(view: View) -> None:
    """The line after a deletion, with the way back, until another conversation is opened or begun."""
    away: Session | None = st.session_state.get(AWAY)
    if away is None or view.session is not None:
        st.session_state.pop(AWAY, None)
        st.empty()
        return
    words = view.words
    with st.container(key="undo", horizontal=True, vertical_alignment="center", gap="xsmall"):
        st.caption(plain(words("session.deleted", title=_title(view, away, 20))), width="stretch")
        back = partial(trying, partial(_restore, view, away.id))
        st.button(words("session.undo"), key="undo-delete", type="tertiary", on_click=back)


def draw_deleted(view: View) -> None:
    """In a conversation that was deleted (in another tab, before its link was followed): that it was, the way back."""
    if view.session is None or view.session.deleted is None:
        st.empty()
        return
    words, session = view.words, view.session
    with st.container(key="deleted"):
        st.warning(f"**{words('trash.here')}**  \n{words('trash.here.hint')}", icon=":material/delete:")
        back = partial(trying, partial(_restore, view, session.id))
        st.button(words("trash.restore"), key="restore", icon=":material/undo:", on_click=back)


def draw_entry(view: View) -> None:
    """The way to the list, when there is anything in it."""
    if view.store.put_away_sessions(1):
        icon = ":material/delete:"
        st.button(view.words("trash.open"), key="trash", type="tertiary", icon=icon, on_click=window.ask, args=(NAME,))


def draw_trash(view: View, about: object = None) -> None:
    """The list."""
    leave = partial(st.session_state.pop, ASKED, None)
    window.draw(view.words("trash.title"), lambda: _draw(view), leave=leave)


def _draw(view: View) -> None:
    with telling(view.words):
        _draw_list(view)


def _draw_list(view: View) -> None:
    words, days = view.words, settings.current().trash_days
    st.caption(words("trash.about", days=days) if days else words("trash.about.kept"))
    draw_said(words, PLACE)
    sessions = view.store.put_away_sessions(MOST)
    if not sessions:
        st.caption(words("trash.none"))
    for session in sessions:
        with st.container(key=f"away-{session.id}", border=True, gap="xsmall"):
            _draw_row(view, session)


def _draw_row(view: View, session: Session) -> None:
    words = view.words
    facts = words("trash.facts", turns=session.turn_count, moment=moment(session.deleted or 0.0))
    st.markdown(f"{plain(_title(view, session, TITLE_CHARS))}  \n:gray[:small[{plain(facts)}]]")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if st.session_state.get(ASKED) == session.id:
            _draw_question(view, session)
            return
        back = partial(_attempt, partial(_restore, view, session.id))
        st.button(words("trash.restore"), key=f"restore-{session.id}", icon=":material/undo:", on_click=back)
        ask = partial(st.session_state.__setitem__, ASKED, session.id)
        icon = ":material/delete_forever:"
        st.button(words("trash.erase"), key=f"erase-{session.id}", type="tertiary", icon=icon, on_click=ask)


def _draw_question(view: View, session: Session) -> None:
    """The question before a conversation goes for good, in its place."""
    words = view.words
    st.markdown(plain(words("trash.erase.about")), width="stretch")
    erase = partial(_attempt, partial(_erase, session.id), "trash.erased")
    st.button(words("trash.erase"), key="erase-yes", type="primary", on_click=erase)
    leave = partial(st.session_state.pop, ASKED, None)
    st.button(words("trash.erase.no"), key="erase-no", on_click=leave)


def _attempt(action: Callable[[], None], done: str = "") -> None:
    attempt(PLACE, action, done)


def _erase(session: str) -> None:
    resource.agent().delete_session(session)
    away: Session | None = st.session_state.get(AWAY)
    if away is not None and away.id == session:
        del st.session_state[AWAY]


def _restore(view: View, session: str) -> None:
    view.store.put_away(session, away=False)
    st.session_state.pop(AWAY, None)
    st.session_state.pop(ASKED, None)
    window.shut()
    show(session)


def _title(view: View, session: Session, chars: int) -> str:
    return short(" ".join(session.title.split()), chars) or view.words("session.new")
