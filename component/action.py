"""What can be done with a turn: copy, another answer, other words, a copy of the conversation, an opinion."""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st

from component import resource
from component.copy import copy_button
from component.markdown import plain
from component.overflow import Item, draw_overflow
from component.view import View, show, trying
from store import Turn
from store.tree import Alternatives

EDITING = "editing"
NOTING = "noting"
_THUMBS = ("down", "up")


def draw_actions(view: View, turn: Turn, facts: str, versions: Alternatives | None) -> None:
    """One line under an answer: what it took, its other versions, the actions."""
    words, number = view.words, turn.number
    busy = view.job is not None or editing(turn)
    with st.container(key=f"actions-{number}", horizontal=True, vertical_alignment="center", gap="xsmall"):
        st.caption(facts, width="content")
        if versions:
            _draw_versions(view, versions, busy)
        if turn.answer:
            copy_button(words, turn.answer, f"copy-{turn.session_id}-{turn.branch}-{number}")
        again = partial(view.again, turn)
        icon = ":material/refresh:"
        st.button(
            "",
            key=f"again-{number}",
            icon=icon,
            type="tertiary",
            help=words("turn.again"),
            on_click=again,
            disabled=busy,
        )
        if turn.answer:
            _draw_thumbs(turn)
        choices = {
            "edit": Item(words("turn.edit"), "edit", partial(edit, turn)),
            "fork": Item(words("turn.fork"), "fork_right", partial(_fork, turn)),
        }
        draw_overflow(f"more-{number}", choices, disabled=busy)
    _draw_note(view, turn)


def draw_editor(view: View, turn: Turn) -> None:
    """The question as a draft; sending it asks again from here, and what followed stays as another version.

    What is typed is told with the next run, whatever that is for: it stays while an answer runs, and when its turn
    leaves the view and comes back.
    """
    words, key = view.words, f"draft-{turn.session_id}-{turn.branch}-{turn.number}"
    with st.container(border=True):
        st.text_area(words("turn.edit"), turn.question, key=key, on_change="ignore", persist_state="page")
        st.caption(words("turn.edit.about"))
        with st.container(horizontal=True):
            icon, send = ":material/send:", partial(_send, view, turn, key)
            disabled = view.job is not None
            st.button(
                words("turn.edit.send"),
                key="edit-send",
                type="primary",
                icon=icon,
                shortcut="Ctrl+Enter",
                on_click=send,
                disabled=disabled,
            )
            st.button(words("chat.withdraw"), key="edit-leave", on_click=_leave, args=(key,))


def _send(view: View, turn: Turn, key: str) -> None:
    if view.rephrase(turn, str(st.session_state[key])):
        _leave(key)


def _leave(key: str) -> None:
    """Closes the editor and forgets its draft."""
    st.session_state.pop(EDITING, None)
    st.session_state.pop(key, None)


def editing(turn: Turn) -> bool:
    """Whether the question of this turn is being changed."""
    return bool(st.session_state.get(EDITING) == (turn.session_id, turn.branch, turn.number))


def edit(turn: Turn) -> None:
    """Opens the question of this turn for changes."""
    st.session_state[EDITING] = (turn.session_id, turn.branch, turn.number)


def _draw_versions(view: View, versions: Alternatives, busy: bool) -> None:
    words, number, place = view.words, versions.number, versions.current
    with st.container(
        key=f"versions-{number}", horizontal=True, vertical_alignment="center", gap=None, width="content"
    ):
        for step, icon, name in ((-1, "chevron_left", "earlier"), (1, "chevron_right", "later")):
            to = place + step
            inside = 0 <= to < len(versions.branches)
            st.button(
                "",
                key=f"{name}-{number}",
                icon=f":material/{icon}:",
                type="tertiary",
                help=words(f"turn.{name}"),
                on_click=_switch,
                args=(view.session_id, number, versions.branches[to] if inside else 0),
                disabled=busy or not inside,
            )
            if step < 0:
                st.caption(f"{place + 1}/{len(versions.branches)}", width="content")


def _switch(session: str, number: int, branch: int) -> None:
    trying(partial(resource.agent().switch, session, number, branch))


def _fork(turn: Turn) -> None:
    show(resource.agent().fork(turn.session_id, turn.number))


def _draw_thumbs(turn: Turn) -> None:
    given = (turn.feedback or {}).get("thumb")
    key = f"thumb-{turn.session_id}-{turn.branch}-{turn.number}"
    default = _THUMBS.index(given) if given in _THUMBS else None
    st.feedback("thumbs", key=key, default=default, on_change=_rate, args=(turn, key))


def _rate(turn: Turn, key: str) -> None:
    """Keeps the thumb; its note goes with it."""
    value = st.session_state.get(key)
    _keep(turn, {} if value is None else {**(turn.feedback or {}), "thumb": _THUMBS[value]})
    st.session_state[NOTING] = None if value is None else (turn.session_id, turn.branch, turn.number)


def _draw_note(view: View, turn: Turn) -> None:
    """The reason for a thumb: asked right after it, shown afterwards."""
    note = str((turn.feedback or {}).get("note") or "")
    if st.session_state.get(NOTING) == (turn.session_id, turn.branch, turn.number):
        key, label = f"note-{turn.session_id}-{turn.branch}-{turn.number}", view.words("turn.note")
        st.text_input(
            label,
            note,
            key=key,
            placeholder=label,
            label_visibility="collapsed",
            max_chars=500,
            on_change=_note,
            args=(turn, key),
        )
    elif note:
        st.caption(f":material/sticky_note_2: {plain(note)}")


def _note(turn: Turn, key: str) -> None:
    _keep(turn, {**(turn.feedback or {}), "note": str(st.session_state[key]).strip()})
    st.session_state[NOTING] = None


def _keep(turn: Turn, feedback: dict[str, Any]) -> None:
    thumb, note = feedback.get("thumb"), str(feedback.get("note") or "")
    trying(partial(resource.agent().store.set_feedback, turn.session_id, turn.number, thumb, note))
