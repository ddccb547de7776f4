"""The row under an answer: copy the text, answer again, edit the question, fork the conversation, rate the answer."""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st

from component.page.view import View, show, trying
from component.panel.summarise import ask_summarise
from component.widget.copy_button import copy_button
from component.widget.markdown import plain
from component.widget.overflow import Item, draw_overflow
from component.work import resource
from store import Turn
from store.tree import Alternatives
from store.turn_index import FINISHED
from text.fence import reword, unframed

EDITING = "editing"
OPENED = "editor-opened"
"""Session state key of the last opened editor: a counter that grows with every opening, and the key of the draft."""
NOTING = "noting"
_THUMBS = ("down", "up")


def draw_actions(view: View, turn: Turn, facts: str, versions: Alternatives | None) -> None:
    """Draws the row under an answer: ``facts`` (time, tokens), the switch between versions, and the action buttons."""
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
            help=words("turn.again.leaves", count=later) if (later := _later(view, turn)) else words("turn.again"),
            on_click=again,
            disabled=busy,
        )
        if turn.answer:
            _draw_thumbs(turn)
        choices = {
            "edit": Item(words("turn.edit"), "edit", partial(edit, turn)),
        }
        if turn.status in FINISHED:
            label = words("turn.unpin") if turn.pinned else words("turn.pin", tokens=turn.tokens)
            icon, pin = "keep_off" if turn.pinned else "keep", partial(_pin_turn, turn, not turn.pinned)
            choices["pin"] = Item(label, icon, pin)
            if view.session is not None and number == view.session.turn_count:
                choices["summarise"] = Item(words("summarise.up_to"), "compress", ask_summarise)
        if not view.is_private:
            choices["fork"] = Item(words("turn.fork"), "fork_right", partial(fork_turn, turn))
        draw_overflow(f"more-{number}", choices, disabled=busy)
    _draw_note(view, turn)


def draw_editor(view: View, turn: Turn) -> None:
    """Draws the question of ``turn`` as an editable draft.

    Sending the draft asks again from this turn; the later turns stay in the old version. Streamlit reports the typed
    text with the next page run, whatever starts that run. The draft therefore survives a running answer, and it is
    still there when its turn leaves the view and comes back.
    """
    words, key = view.words, _draft(turn)
    with st.container(border=True):
        st.text_area(words("turn.edit"), unframed(turn.question), key=key, on_change="ignore", persist_state="page")
        later = _later(view, turn)
        st.caption(words("turn.edit.leaves", count=later) if later else words("turn.edit.about"))
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


def _later(view: View, turn: Turn) -> int:
    """Returns the number of turns after ``turn`` in the session."""
    return view.session.turn_count - turn.number if view.session else 0


def _send(view: View, turn: Turn, key: str) -> None:
    if view.rephrase(turn, reword(turn.question, str(st.session_state[key]))):
        _leave(key)


def _leave(key: str) -> None:
    """Closes the editor and forgets its draft."""
    st.session_state.pop(EDITING, None)
    st.session_state.pop(key, None)


def editing(turn: Turn) -> bool:
    """Returns whether the user is editing the question of this turn."""
    return bool(st.session_state.get(EDITING) == (turn.session_id, turn.branch, turn.number))


def edit(turn: Turn) -> None:
    """Opens the editor for the question of this turn; the browser scrolls to the editor and puts the cursor into it."""
    st.session_state[EDITING] = (turn.session_id, turn.branch, turn.number)
    st.session_state[OPENED] = (int(st.session_state.get(OPENED, (0, ""))[0]) + 1, _draft(turn))


def _draft(turn: Turn) -> str:
    return f"draft-{turn.session_id}-{turn.branch}-{turn.number}"


def _draw_versions(view: View, versions: Alternatives, busy: bool) -> None:
    words, number, place = view.words, versions.number, versions.current
    with st.container(
        key=f"versions-{number}", horizontal=True, vertical_alignment="center", gap=None, width="content"
    ):
        for step, icon, name in ((-1, "chevron_left", "earlier"), (1, "chevron_right", "later")):
            target = place + step
            inside = 0 <= target < len(versions.branches)
            st.button(
                "",
                key=f"{name}-{number}",
                icon=f":material/{icon}:",
                type="tertiary",
                help=words(f"turn.{name}"),
                on_click=_switch,
                args=(view.session_id, number, versions.branches[target] if inside else 0),
                disabled=busy or not inside,
            )
            if step < 0:
                st.caption(f"{place + 1}/{len(versions.branches)}", width="content")


def _switch(session: str, number: int, branch: int) -> None:
    trying(partial(resource.here().switch, session, number, branch))


def _pin_turn(turn: Turn, pinned: bool) -> None:
    resource.here().pin_turn(turn.session_id, turn.number, pinned)


def fork_turn(turn: Turn) -> None:
    """Opens a new conversation with the turns up to this one."""
    show(resource.here().fork(turn.session_id, turn.number))


def _draw_thumbs(turn: Turn) -> None:
    thumb = (turn.feedback or {}).get("thumb")
    key = f"thumb-{turn.session_id}-{turn.branch}-{turn.number}"
    default = _THUMBS.index(thumb) if thumb in _THUMBS else None
    st.feedback("thumbs", key=key, default=default, on_change=_rate, args=(turn, key))


def _rate(turn: Turn, key: str) -> None:
    """Stores the thumb and asks for a note; a thumb that is taken back takes its note with it."""
    value = st.session_state.get(key)
    _keep(turn, {} if value is None else {**(turn.feedback or {}), "thumb": _THUMBS[value]})
    st.session_state[NOTING] = None if value is None else (turn.session_id, turn.branch, turn.number)


def _draw_note(view: View, turn: Turn) -> None:
    """Draws the note to a thumb: an input right after the user gives the thumb, the stored text later."""
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
    trying(partial(resource.here().store.set_feedback, turn.session_id, turn.number, thumb, note))
