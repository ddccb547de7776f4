"""The message input. While an answer runs, the user can stop it, and a further message waits until the answer ends."""

from __future__ import annotations

import streamlit as st
from streamlit.elements.widgets.chat import ChatInputValue

from component.chat.ask import answer_typed
from component.chat.file import draw_next
from component.chat.question import answer_by_message
from component.chat.tool_choice import directed, draw_chosen, draw_menu_of_tools
from component.documents.adding import Adding, attach_files, draw_adding, upload_limit
from component.documents.reach import draw_reach
from component.page.view import DRAFT, RETURNED, View, trying
from component.work import resource
from retrieval import Library


def draw_composer(view: View) -> None:
    """Draws the input and, while an answer runs, the stop button (Esc) beside it."""
    words, job = view.words, view.job
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="composer"):
        library = resource.agent().library
        deleted = view.session is not None and view.session.deleted is not None
        if RETURNED in st.session_state:
            st.session_state[DRAFT] = st.session_state.pop(RETURNED)
        st.chat_input(
            words("trash.here" if deleted else "private.ask" if view.is_private else "chat.ask"),
            key=DRAFT,
            disabled=deleted,
            accept_file="multiple" if library and not view.is_private else False,
            max_upload_size=upload_limit(),
            on_submit=_submit,
            args=(view, library),
        )
        draw_menu_of_tools(view)
        draw_reach(view)
        if job:
            st.button(
                words("chat.stop"),
                icon=":material/stop_circle:",
                key="stop",
                shortcut="Esc",
                on_click=job.stop.set,
                disabled=job.stop.is_set(),
            )


def draw_attached(view: View) -> Adding:
    """Draws the files of this conversation that are being read or failed, and the files that go with the next message.

    All other files show their state on their messages.
    """
    intakes = [
        intake for intake in resource.intakes().of(view.session_id or " ") if intake.state != "done" or intake.error
    ]
    with st.container(key="attached", gap="xsmall"):
        adding = draw_adding(view, intakes, "attached-")
        draw_next(view)
        draw_chosen(view)
    return adding


def _submit(view: View, library: Library | None) -> None:
    """Sends the typed message. Files belong to this conversation only, and the text is sent once they are read."""
    value = st.session_state[DRAFT]
    text = str(value.text if isinstance(value, ChatInputValue) else value or "")
    files = [file for file in value.files if file.name] if isinstance(value, ChatInputValue) else []
    if library is None or not files:
        if text and not answer_typed(view, text) and not answer_by_message(view, text):
            view.send(directed(view, text))
        return
    question = view.question(directed(view, text)) if text.strip() else None
    if question is not None or not text.strip():
        trying(lambda: attach_files(files, question.session if question else view.create(), question))
