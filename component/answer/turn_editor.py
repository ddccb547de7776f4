"""The editor of a turn: its question, which is then asked again, or its answer, which then stands as the user wrote it.
Either makes another version of the turn; the later turns stay in the old one."""

from __future__ import annotations

from functools import partial
from typing import Literal

import streamlit as st

from component.page.view import View
from store import TurnRow
from text.fence import remove_frames, reword_message

TurnPart = Literal["question", "answer"]
EDITING = "editing"
OPENED = "editor-opened"
"""Session state key of the last opened editor: a counter that grows with every opening, and the key of the draft."""


def render_question_editor(view: View, turn: TurnRow) -> None:
    """Draws the question of ``turn`` as a draft; sending it asks again from this turn."""
    about = "turn.edit.leaves" if count_later_turns(view, turn) else "turn.edit.about"
    _render_editor(view, turn, "question", remove_frames(turn.question), ("turn.edit", about, "turn.edit.send"))


def render_answer_editor(view: View, turn: TurnRow) -> None:
    """Draws the answer of ``turn`` as a draft; keeping it continues the conversation after the user's words."""
    about = "turn.reword.leaves" if count_later_turns(view, turn) else "turn.reword.about"
    _render_editor(view, turn, "answer", turn.answer or "", ("turn.reword", about, "turn.reword.keep"))


def _render_editor(view: View, turn: TurnRow, part: TurnPart, text: str, texts: tuple[str, str, str]) -> None:
    """Draws the draft with its buttons. ``texts``: the names of its label, of what it says and of its button.

    Streamlit reports the typed text with the next page run, whatever starts that run. The draft therefore survives a
    running answer, and it is still there when its turn leaves the view and comes back.
    """
    words, key = view.words, _build_draft_key(turn, part)
    label, about, send = texts
    with st.container(border=True):
        st.text_area(words(label), text, key=key, on_change="ignore", persist_state="page")
        st.caption(words(about, count=count_later_turns(view, turn)))
        with st.container(horizontal=True):
            st.button(
                words(send),
                key="edit-send",
                type="primary",
                icon=":material/send:" if part == "question" else ":material/check:",
                shortcut="Ctrl+Enter",
                on_click=partial(_send_draft, view, turn, part),
                disabled=view.job is not None,
            )
            st.button(words("chat.withdraw"), key="edit-leave", on_click=_close_editor, args=(key,))


def _send_draft(view: View, turn: TurnRow, part: TurnPart) -> None:
    key = _build_draft_key(turn, part)
    if key not in st.session_state or not is_editing_turn(turn, part):  # a second click
        return
    draft = str(st.session_state[key])
    if part == "question":
        is_stored = view.rephrase(turn, reword_message(turn.question, draft))
    else:
        is_stored = view.reword(turn, draft)
    if is_stored:
        _close_editor(key)


def _close_editor(key: str) -> None:
    """Closes the editor and forgets its draft."""
    st.session_state.pop(EDITING, None)
    st.session_state.pop(key, None)


def is_editing_turn(turn: TurnRow, part: TurnPart | None = None) -> bool:
    """Returns whether the user is editing this part of the turn; None: any part."""
    editing, place = st.session_state.get(EDITING), (turn.session_id, turn.branch, turn.number)
    return editing is not None and editing[:-1] == place and part in (None, editing[-1])


def open_turn_editor(turn: TurnRow, part: TurnPart = "question") -> None:
    """Opens the editor for this turn; the browser scrolls to the editor and puts the cursor into it."""
    st.session_state[EDITING] = (turn.session_id, turn.branch, turn.number, part)
    opened = int(st.session_state.get(OPENED, (0, ""))[0]) + 1
    st.session_state[OPENED] = (opened, _build_draft_key(turn, part))


def _build_draft_key(turn: TurnRow, part: TurnPart) -> str:
    beginning = "draft" if part == "question" else "draft-answer"
    return f"{beginning}-{turn.session_id}-{turn.branch}-{turn.number}"


def count_later_turns(view: View, turn: TurnRow) -> int:
    """Returns the number of turns after ``turn`` in the session."""
    return view.session.turn_count - turn.number if view.session else 0
