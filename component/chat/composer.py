"""The message input. While an answer runs, the user can stop it, and a further message waits until the answer ends."""

from __future__ import annotations

import streamlit as st
from streamlit.elements.widgets.chat import ChatInputValue

from component.chat.ask import answer_typed
from component.chat.file import draw_next, list_waiting_files
from component.chat.question import answer_by_message
from component.chat.side_question import ask_side_question, draw_side_line, read_side_command
from component.chat.tool_choice import draw_chosen, draw_menu_of_tools, prefix_chosen_tool
from component.documents.adding import (
    FAILED_SHOWN,
    Adding,
    SortedFiles,
    attach_files,
    draw_adding,
    draw_fault,
    sort_files,
    upload_limit,
)
from component.documents.reach import draw_reach
from component.page.view import DRAFT, GIVEN_BACK, RETURNED, View, return_to_input, run_page_action
from component.work import resource
from component.world.view import WorldView, expect_message, look_at_newest
from errors import GieokError
from store.turn.image import is_image_key
from store.turn.image_file import SUFFIXES

REFUSED = "file-refused"
"""Session state key of the conversation and what is wrong with files that were dropped into its input, until its next
message."""


def render_chat_composer(view: View, story: WorldView | None = None) -> None:
    """Draws the input and, while an answer runs, the stop button (Esc) in it. ``story``: what the conversation's world
    adds; it takes neither files nor tools."""
    words, job = view.words, view.job
    if story is not None and job is None:
        expect_message(story)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="composer"):
        library = resource.find_user_agent().library if story is None else None
        # also before it is known whether the model sees images: an input that changes its kind is drawn anew, and the
        # browser loses the cursor in it; a file that the model cannot see is refused with what to do
        takes_files = story is None and not view.is_private
        deleted = view.session is not None and view.session.deleted is not None
        if RETURNED in st.session_state:
            st.session_state[DRAFT] = st.session_state.pop(RETURNED)
        st.chat_input(
            _write_invitation(view, story, deleted=deleted),
            key=DRAFT,
            disabled=deleted,
            accept_file="multiple" if takes_files else False,
            file_type=None if library else list(SUFFIXES),
            max_upload_size=upload_limit(),
            on_submit=_submit_chat_message,
            args=(view,),
        )
        with st.container(key="stop-place", width="content"):  # always there, so that nothing moves when it fills
            if job:
                st.button(
                    words("chat.stop"),
                    icon=":material/stop_circle:",
                    key="stop",
                    shortcut="Esc",
                    type="tertiary",
                    on_click=job.stop.set,
                    disabled=job.stop.is_set(),
                )
            else:
                st.empty()  # takes the button's place: else it stays until a run that waits for a summary has ended
        if story is None:
            draw_menu_of_tools(view)
            draw_reach(view)


def _write_invitation(view: View, story: WorldView | None, *, deleted: bool) -> str:
    """Returns what stands in the empty input."""
    if deleted:
        return view.words("trash.here")
    if story is not None:
        return view.words("world.ask", player=story.world.player)
    return view.words("private.ask" if view.is_private else "chat.ask")


def draw_attached(view: View) -> Adding:
    """Draws the files of this conversation that are being read or failed, and the files that go with the next message.

    All other files show their state on their messages.
    """
    intakes = [
        intake
        for intake in resource.open_intakes().of(view.session_id or " ")
        if intake.state != "done" or intake.error
    ]
    with st.container(key="attached", gap="xsmall"):
        _draw_refused_file(view)
        draw_side_line(view)
        adding = draw_adding(view, intakes, "attached-")
        draw_next(view)
        draw_chosen(view)
    return adding


def _draw_refused_file(view: View) -> None:
    """Draws above the input of their conversation why files were not taken, and what the user can do."""
    session_id, errors = st.session_state.get(REFUSED, ("", []))
    if not errors or session_id != (view.session_id or ""):
        return
    with st.container(key="file-refused", horizontal=True, vertical_alignment="center", gap="small", border=True):
        with st.container(width="stretch"):
            for error in errors[:FAILED_SHOWN]:
                draw_fault(view.words, "", error.code, error.text(), error.values)
            if len(errors) > FAILED_SHOWN:
                st.caption(view.words("adding.more", count=len(errors) - FAILED_SHOWN))
        st.button(view.words("adding.dismiss"), key="refused-dismiss", type="tertiary", on_click=_forget_refused)


def _forget_refused() -> None:
    st.session_state.pop(REFUSED, None)


def _submit_chat_message(view: View) -> None:
    """Sends the typed message. Files belong to this conversation only, and the text is sent once they are read; beside
    a file that cannot be read it goes back into the input."""
    value = st.session_state[DRAFT]
    st.session_state.pop(GIVEN_BACK, None)
    _forget_refused()
    text = str(value.text if isinstance(value, ChatInputValue) else value or "")
    files = [file for file in value.files if file.name] if isinstance(value, ChatInputValue) else []
    if (side_question := read_side_command(text)) is not None:
        ask_side_question(view, side_question)
        if not files:
            return
        text = ""  # the files wait for the next message
    if view.session is not None and view.session.world:
        look_at_newest(view.session.id)
        if text.strip():
            view.send(text)
        return
    if not files:
        if text and not answer_typed(view, text) and not answer_by_message(view, text):
            view.send(prefix_chosen_tool(view, text))
        return
    waiting = sum(is_image_key(file.key) for file in list_waiting_files(view))
    found = sort_files(files, view.status.models, waiting)
    if found.errors:  # nothing is sent without a file that belongs to it
        if text:
            return_to_input(text)
            text = ""
        st.session_state[REFUSED] = (view.session_id or "", found.errors)
        if not found.documents and not found.images:
            return
    run_page_action(lambda: _attach_to_message(view, text, found))


def _attach_to_message(view: View, text: str, found: SortedFiles) -> None:
    """Gives files to a message, which is sent at once, or when its documents are read; without a text they go with the
    next one. What cannot be stored comes back into the input.

    The images are stored first: a program that ends in between leaves them waiting for the next message, in sight.
    """
    question = None
    try:
        session_id = view.ensure_session()
        if found.errors:  # the other files wait in this conversation, and so does the notice
            st.session_state[REFUSED] = (session_id, found.errors)
        names = [name for name, _ in view.store.images.attach(session_id, found.images)] if found.images else []
        if text.strip():
            question = view.hold_question(prefix_chosen_tool(view, text), session_id)
            if question is None:  # the text is back in the input
                return
            view.store.attachments.bind(session_id, names, question.message)
        if found.documents:
            attach_files(found.documents, session_id, question)
        elif question is not None:
            question.send()
    except GieokError:
        if question is not None:
            question.withdraw()
        if text.strip():
            return_to_input(text)
        raise
