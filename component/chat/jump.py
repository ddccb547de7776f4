"""Jumps to any turn of the open conversation; the page shows a window of turns around it, not all later turns."""

from __future__ import annotations

import streamlit as st

from component.page.view import View, scroll_to, show_other_turns, show_session, stay_there, to_newest
from component.page.window import close_page_window
from store import TurnRow

WINDOW = 20
BEFORE = 3


def jump_to_turn(session_id: str, number: int, count: int) -> None:
    """Opens the session at turn ``number``; ``count``: how many turns the session has."""
    if count - number < WINDOW - BEFORE:
        to_newest(session_id)
    else:
        st.session_state[_build_until_key(session_id)] = number - BEFORE + WINDOW - 1
        st.session_state[_build_window_size_key(session_id)] = WINDOW
        show_other_turns()
    stay_there(session_id)
    scroll_to(number)
    close_page_window()
    show_session(session_id)


def draw_leap(view: View, place: str) -> None:
    """Draws a field that takes the number of a turn and jumps to that turn."""
    session = view.session
    if session is None or not session.turn_count:
        return
    key, label = f"leap-{place}-{session.id}", view.words("jump.turn")
    go = (session.id, key, session.turn_count)
    st.number_input(
        label,
        1,
        session.turn_count,
        None,
        key=key,
        placeholder=f"1–{session.turn_count}",
        icon=":material/my_location:",
        width=190,
        on_change=_jump_to_entered_turn,
        args=go,
    )


def _jump_to_entered_turn(session_id: str, key: str, count: int) -> None:
    number = st.session_state.get(key)
    if number is not None:
        st.session_state[key] = None
        jump_to_turn(session_id, int(number), count)


def load_turn_window(view: View) -> list[TurnRow]:
    """Returns the turns to show: the last ones, or those around the turn that the user jumped to.

    All of them stand before the running answer.
    """
    if view.session is None:
        return []
    until, size = (
        st.session_state.get(_build_until_key(view.session.id)),
        st.session_state.get(_build_window_size_key(view.session.id), WINDOW),
    )
    ends = [view.job.turn] if view.job else []
    ends += [] if until is None else [int(until) + 1]
    return view.store.turns(view.session.id, before=min(ends, default=None), limit=int(size))


def is_showing_earlier_turns(view: View) -> bool:
    """Returns whether the page shows earlier turns, so that the last turn is not in view.

    A turn that is being answered is the last one: its new version takes the place of all turns that followed it.
    """
    if view.session is None:
        return False
    until = st.session_state.get(_build_until_key(view.session.id))
    return until is not None and int(until) < (view.job.turn if view.job else view.session.turn_count)


def show_earlier_turns(session_id: str) -> None:
    """Shows more earlier turns."""
    st.session_state[_build_window_size_key(session_id)] = (
        int(st.session_state.get(_build_window_size_key(session_id), WINDOW)) + WINDOW
    )


def show_later_turns(session_id: str) -> None:
    """Shows more later turns."""
    st.session_state[_build_until_key(session_id)] = int(st.session_state[_build_until_key(session_id)]) + WINDOW
    show_earlier_turns(session_id)


def _build_until_key(session_id: str) -> str:
    return f"until-{session_id}"


def _build_window_size_key(session_id: str) -> str:
    return f"window-{session_id}"
