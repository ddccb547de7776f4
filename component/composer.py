"""Where a message is typed; while an answer runs it can be stopped, and a further message waits its turn."""

from __future__ import annotations

import streamlit as st
from streamlit.elements.widgets.chat import ChatInputValue

from component import resource
from component.adding import Adding, add_files, draw_adding, upload_limit
from component.intake import Intake
from component.view import DRAFT, RETURNED, View
from retrieval import Library

ATTACHED = "attached"
"""Where a page remembers the work on files that were dropped into its input."""


def draw_composer(view: View) -> None:
    """The input and, beside it, the stop button (Esc)."""
    words, job = view.words, view.job
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="composer"):
        library = resource.agent().library
        deleted = view.session is not None and view.session.deleted is not None
        if RETURNED in st.session_state:
            st.session_state[DRAFT] = st.session_state.pop(RETURNED)
        st.chat_input(
            words("trash.here") if deleted else words("chat.ask"),
            key=DRAFT,
            disabled=deleted,
            accept_file="multiple" if library else False,
            max_upload_size=upload_limit(),
            on_submit=_submit,
            args=(view, library),
        )
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
    """The files that came with messages of this conversation, until they are in and that was noticed."""
    mine = st.session_state.get(ATTACHED, ())
    intakes = [each for each in resource.intakes().all() if each.id in mine or _asks_here(view, each)]
    with st.container(key="attached", gap="xsmall"):
        return draw_adding(view, intakes, "attached-")


def _asks_here(view: View, intake: Intake) -> bool:
    return intake.question is not None and intake.question.session == view.session_id


def _submit(view: View, library: Library | None) -> None:
    """Sends what was typed; files go to the documents, and the text follows them as soon as they are in."""
    given = st.session_state[DRAFT]
    text = str(given.text if isinstance(given, ChatInputValue) else given or "")
    files = [file for file in given.files if file.name] if isinstance(given, ChatInputValue) else []
    if library is None or not files:
        if text:
            view.send(text)
        return
    question = view.question(text) if text.strip() else None
    intake = add_files(library, files, question=question)
    st.session_state[ATTACHED] = (*st.session_state.get(ATTACHED, ()), intake.id)
