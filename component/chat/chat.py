"""The view of a conversation: the last turns, the running answer, the waiting messages, or the invitation."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from component.answer.action import draw_removed
from component.answer.live import LiveAnswerView
from component.chat.continued import draw_continued
from component.chat.invitation import draw_invitation
from component.chat.jump import (
    WINDOW,
    draw_leap,
    is_showing_earlier_turns,
    load_turn_window,
    show_earlier_turns,
    show_later_turns,
)
from component.chat.other_program import draw_elsewhere
from component.chat.turn import draw_question, render_chat_turn
from component.memory.answer_value import read_given_texts
from component.memory.turn_change import find_changes
from component.page.view import (
    LEAPS,
    View,
    follows_end,
    return_to_input,
    run_page_action,
    take_page_error,
    to_newest,
)
from component.sidebar.trash import draw_deleted
from component.widget.failure import draw_error, show_error_toast
from component.widget.markdown import escape_markdown, shorten_text
from component.widget.region import open_page_region
from component.work import resource
from component.work.job import Job, RefusedMessage
from component.world.note import draw_notes
from component.world.view import WorldView
from store import TurnRow
from store.turn.outbox import WaitingMessage

ANSWERED = "answered-again"
"""Session state key of the last job that answered a turn again: (session, turn, start) of the job, and the session's
path after the job ended, None while it runs."""


def draw_chat(
    view: View, story: WorldView | None = None
) -> tuple[list[TurnRow], LiveAnswerView | None, list[DeltaGenerator]]:
    """Draws the conversation. ``story``: what its world adds, if it has one.

    Returns the last turns, the place of the running answer if the page shows one, and the places of the invitation
    that show the model's state.
    """
    job, refused = view.job, view.jobs.find_refused(view.session_id)
    turns, elsewhere = _load_shown_turns(view)
    waiting = view.jobs.list_queued(view.session_id)
    inviting = not (turns or job or refused or waiting)
    live, places, follows = None, [], follows_end(view.session_id)
    with (
        st.container(height=160, key=f"chat-{view.session_id or 'new'}", border=False, autoscroll=follows),
        open_page_region("talk", (view.session_id, inviting, st.session_state.get(LEAPS), build_turns_key(view))),
    ):
        if inviting and story is not None:
            st.caption(view.words("world.empty"), text_alignment="center")
        elif inviting:
            places = draw_invitation(view)
        else:
            live = _draw_turns(view, turns, elsewhere, story)
        _render_chat_notices(view, waiting)
    return _load_last_turns(view, turns), live, places


def build_turns_key(view: View) -> Hashable:
    """Returns a key for the turns that the view shows; a new key makes ``open_page_region`` clear the view.

    The key is the session's path, or the job that answers a turn again. The end of that job changes the path but not
    the turns on the page. The key therefore stays the same, and the reader keeps the scroll position.
    """
    job = view.job
    if job and job.request.kind != "new":
        running = (job.session, job.turn, job.started)
        st.session_state[ANSWERED] = running, None
        return running
    if view.session is None:
        return None
    path, (last_job, end_path) = tuple(view.session.path), st.session_state.get(ANSWERED, (None, None))
    if last_job is None or last_job[0] != view.session.id:
        return path
    if end_path is None:  # the job was still running in the last page run
        st.session_state[ANSWERED] = last_job, path
    shown: Hashable = last_job if end_path in (None, path) else path
    return shown


def _draw_turns(view: View, turns: list[TurnRow], elsewhere: bool, story: WorldView | None) -> LiveAnswerView | None:
    job = view.job
    with st.container(key="turns"):
        _render_earlier_turns_bar(view, turns)
        numbers = [turn.number for turn in turns]
        versions = view.store.tree.alternatives(view.session_id, numbers) if view.session_id and turns else {}
        changes = find_changes(view, turns) if story is None else {}
        given = read_given_texts(view, turns) if story is None else {}
        for turn in turns:
            last = job is None and turn is turns[-1] and not is_showing_earlier_turns(view)
            draw_removed(view, turn.number)
            if elsewhere and turn is turns[-1]:
                draw_question(view, turn.question, str(turn.number), turn.files, turn.number)
                draw_elsewhere(view, turn)
            else:
                is_told = story is not None and story.node is not None and story.node.turn == turn.number
                notes = partial(draw_notes, story) if story is not None and is_told and not story.is_past else None
                of_turn = (versions.get(turn.number), changes.get(turn.number, ()))
                render_chat_turn(view, turn, last, *of_turn, notes, given)
        if is_showing_earlier_turns(view):
            _render_later_turns_bar(view)
            return None
        if job is None:
            # in place of the running turn: it stood further down if the first turn has left the page since, and would
            # stay until a run that waits for a summary has ended
            st.empty()
            st.empty()
            return None
        draw_question(view, job.question, str(job.turn), _find_job_files(view, job), job.turn)
        return LiveAnswerView(view.words, job)


def _find_job_files(view: View, job: Job) -> list[dict[str, str]]:
    """Returns the files of the running turn; before the turn begins, the files that go with its message."""
    turn = view.store.turn(job.session, job.turn)
    if turn is not None:
        return turn.files
    waiting = view.store.attachments.of(job.session)
    return [{"name": file.name, "key": file.key} for file in waiting if file.message in (0, job.message)]


def _render_chat_notices(view: View, waiting: list[WaitingMessage]) -> None:
    """Draws the notices below the last turn: deleted chat, hidden turns, refused message, error, waiting messages."""
    draw_deleted(view)
    draw_continued(view)
    refused = view.jobs.find_refused(view.session_id)
    if refused and view.session_id:
        with st.container(key="refused"):
            _draw_refused(view, view.session_id, refused)
    else:
        st.empty()
    error = take_page_error()
    if error and (
        is_showing_earlier_turns(view) or not follows_end(view.session_id)
    ):  # the reader is elsewhere and would not see a box
        show_error_toast(view.words, error)
        st.empty()
    elif error:
        draw_error(view.words, error)
    else:
        st.empty()
    _draw_queue(view, waiting)


def _load_shown_turns(view: View) -> tuple[list[TurnRow], bool]:
    """Returns the turns to show, and whether another program is answering the last of them.

    First completes an answer that was cut off before it was stored (``Agent.reconcile``).
    """
    if view.session_id is None:
        return [], False
    turns, free = load_turn_window(view), True
    if turns and turns[-1].status == "running" and view.job is None:
        free = resource.find_page_agent().reconcile(view.session_id)
        turns = load_turn_window(view)
    return turns, not free and turns[-1].status == "running"


def _load_last_turns(view: View, turns: list[TurnRow]) -> list[TurnRow]:
    """Returns the last turns, even while the page shows earlier ones."""
    return view.store.turns(view.session_id, limit=5) if view.session_id and is_showing_earlier_turns(view) else turns


def _render_later_turns_bar(view: View) -> None:
    """Draws the buttons below earlier turns: show later turns, jump to the newest."""
    words, session = view.words, view.session_id or ""
    with st.container(key="later", horizontal=True, horizontal_alignment="center"):
        icon = ":material/keyboard_arrow_down:"
        st.button(
            words("chat.later"),
            key="load-later",
            icon=icon,
            type="tertiary",
            on_click=show_later_turns,
            args=(session,),
        )
        icon = ":material/vertical_align_bottom:"
        st.button(words("chat.newest"), key="newest", icon=icon, on_click=to_newest, args=(session,))


def _render_earlier_turns_bar(view: View, turns: list[TurnRow]) -> None:
    """Draws the button that shows more earlier turns, and the field that jumps to a turn by its number."""
    first = view.session.path[0][1] if view.session is not None else 1  # a story may begin with a greeting, turn 0
    more = turns[0].number - first if turns else 0
    if view.session is None or (more < 1 and not is_showing_earlier_turns(view)):
        st.empty()
        return
    with st.container(key="earlier", horizontal=True, horizontal_alignment="center", vertical_alignment="bottom"):
        if more:
            st.button(
                view.words("chat.earlier", count=min(WINDOW, more)),
                key="load-earlier",
                icon=":material/history:",
                type="tertiary",
                on_click=show_earlier_turns,
                args=(view.session_id,),
            )
        draw_leap(view, "earlier")


def _draw_refused(view: View, session: str, refused: RefusedMessage) -> None:
    """Draws a message that did not become a turn: the reason, and the buttons to edit, dismiss or resend it."""
    words = view.words
    if not refused.again:
        draw_question(view, refused.text, "refused")
    if refused.error:
        draw_error(words, refused.error)
    else:
        st.info(words("chat.not_begun" if refused.again else "chat.not_sent"), icon=":material/info:")
    dismiss = partial(run_page_action, partial(view.jobs.dismiss, session))
    with st.container(horizontal=True, key="refused-actions"):
        if not refused.again:
            draft = partial(_to_draft, view, refused)
            st.button(words("chat.to_draft"), key="to-draft", icon=":material/edit:", on_click=draft)
        if refused.again or refused.turn is not None:
            st.button(words("chat.dismiss"), key="dismiss", on_click=dismiss)
            return
        send = partial(view.send_again, session, refused)
        st.button(words("chat.send_again"), key="send-again", icon=":material/refresh:", on_click=send)


def _to_draft(view: View, refused: RefusedMessage) -> None:
    return_to_input(refused.text)
    run_page_action(partial(view.jobs.dismiss, view.session_id or ""))


def _draw_queue(view: View, waiting: list[WaitingMessage]) -> None:
    """Draws the messages that wait for the running answer; the one that follows has a button that stops it for that.

    After a failure or a restart they wait for the user, and every message has a button to send it now.
    """
    words = view.words
    following = next((message.id for message in waiting if view.jobs.can_interrupt(message)), None)
    for index, message in enumerate(waiting):
        with st.container(
            key=f"queued-{index}", horizontal=True, vertical_alignment="center", horizontal_alignment="right"
        ):
            label = f":material/schedule: {words('chat.queued')} · {escape_markdown(shorten_text(message.text, 60))}"
            st.caption(label, width="content")
            if view.job is None:
                resend = partial(view.resend, message)
                st.button(words("chat.send_now"), key=f"send-{index}", on_click=resend)
            elif message.id == following:
                # what has arrived so far stays, and the model reads it with the message
                st.button(
                    words("chat.send_now"),
                    key=f"steer-{message.id}",
                    on_click=partial(view.jobs.interrupt, message),
                    disabled=view.job.stop.is_set(),
                    help=words("chat.steer"),
                )
            cancel, back = words("chat.withdraw"), partial(run_page_action, partial(view.jobs.withdraw, message.id))
            st.button(cancel, key=f"withdraw-{index}", type="tertiary", on_click=back)
    for _ in range(int(st.session_state.get("waiting", 0)) - len(waiting)):
        st.empty()
    st.session_state["waiting"] = len(waiting)
