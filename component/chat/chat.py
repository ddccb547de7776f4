"""The view of a conversation: the last turns, the running answer, the waiting messages, or the invitation."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from component.answer.live import Live
from component.chat.continued import draw_continued
from component.chat.invitation import draw_invitation
from component.chat.jump import WINDOW, away, draw_leap, onward, widen, window
from component.chat.other_program import draw_elsewhere
from component.chat.turn import draw_question, draw_turn
from component.memory.turn_change import find_changes
from component.page.view import DRAFT, View, follows_end, to_newest, told, trying
from component.sidebar.trash import draw_deleted
from component.widget.failure import draw_error, toast
from component.widget.markdown import plain, short
from component.widget.region import stage
from component.work import resource
from component.work.job import Job, RefusedMessage
from store import Turn
from store.outbox import Message

ANSWERED = "answered-again"
"""Session state key of the last job that answered a turn again: (session, turn, start) of the job, and the session's
path after the job ended, None while it runs."""


def draw_chat(view: View) -> tuple[list[Turn], Live | None, list[DeltaGenerator]]:
    """Draws the conversation.

    Returns the last turns, the place of the running answer if the page shows one, and the places of the invitation
    that show the model's state.
    """
    job, refused = view.job, view.jobs.refused(view.session_id)
    turns, elsewhere = _turns(view)
    waiting = view.jobs.queued(view.session_id)
    inviting = not (turns or job or refused or waiting)
    live, places, follows = None, [], follows_end(view.session_id)
    with (
        st.container(height=160, key=f"chat-{view.session_id or 'new'}", border=False, autoscroll=follows),
        stage("talk", (view.session_id, inviting, _holds(view))),
    ):
        if inviting:
            places = draw_invitation(view)
        else:
            live = _draw_turns(view, turns, elsewhere)
        _draw_notices(view, waiting)
    return _last(view, turns), live, places


def _holds(view: View) -> Hashable:
    """Returns a key for the turns that the view shows; a new key makes ``stage`` clear the view.

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


def _draw_turns(view: View, turns: list[Turn], elsewhere: bool) -> Live | None:
    job = view.job
    with st.container(key="turns"):
        _draw_earlier(view, turns)
        numbers = [turn.number for turn in turns]
        versions = view.store.tree.alternatives(view.session_id, numbers) if view.session_id and turns else {}
        changes = find_changes(view, turns)
        for turn in turns:
            last = job is None and turn is turns[-1] and not away(view)
            if elsewhere and turn is turns[-1]:
                draw_question(view, turn.question, str(turn.number), turn.files, turn.number)
                draw_elsewhere(view, turn)
            else:
                draw_turn(view, turn, last, versions.get(turn.number), changes.get(turn.number, ()))
        if away(view):
            _draw_later(view)
            return None
        if job is None:
            return None
        draw_question(view, job.question, str(job.turn), _files(view, job), job.turn)
        return Live(view.words, job)


def _files(view: View, job: Job) -> list[dict[str, str]]:
    """Returns the files of the running turn; before the turn begins, the files that go with its message."""
    turn = view.store.turn(job.session, job.turn)
    if turn is not None:
        return turn.files
    waiting = view.store.attachments.of(job.session)
    return [{"name": file.name, "key": file.key} for file in waiting if file.message in (0, job.message)]


def _draw_notices(view: View, waiting: list[Message]) -> None:
    """Draws the notices below the last turn: deleted chat, hidden turns, refused message, error, waiting messages."""
    draw_deleted(view)
    draw_continued(view)
    refused = view.jobs.refused(view.session_id)
    if refused and view.session_id:
        with st.container(key="refused"):
            _draw_refused(view, view.session_id, refused)
    else:
        st.empty()
    error = told()
    if error and (away(view) or not follows_end(view.session_id)):  # the reader is elsewhere and would not see a box
        toast(view.words, error)
        st.empty()
    elif error:
        draw_error(view.words, error)
    else:
        st.empty()
    _draw_queue(view, waiting)


def _turns(view: View) -> tuple[list[Turn], bool]:
    """Returns the turns to show, and whether another program is answering the last of them.

    First completes an answer that was cut off before it was stored (``Agent.reconcile``).
    """
    if view.session_id is None:
        return [], False
    turns, free = window(view), True
    if turns and turns[-1].status == "running" and view.job is None:
        free = resource.here().reconcile(view.session_id)
        turns = window(view)
    return turns, not free and turns[-1].status == "running"


def _last(view: View, turns: list[Turn]) -> list[Turn]:
    """Returns the last turns, even while the page shows earlier ones."""
    return view.store.turns(view.session_id, limit=5) if view.session_id and away(view) else turns


def _draw_later(view: View) -> None:
    """Draws the buttons below earlier turns: show later turns, jump to the newest."""
    words, session = view.words, view.session_id or ""
    with st.container(key="later", horizontal=True, horizontal_alignment="center"):
        icon = ":material/keyboard_arrow_down:"
        st.button(words("chat.later"), key="load-later", icon=icon, type="tertiary", on_click=onward, args=(session,))
        icon = ":material/vertical_align_bottom:"
        st.button(words("chat.newest"), key="newest", icon=icon, on_click=to_newest, args=(session,))


def _draw_earlier(view: View, turns: list[Turn]) -> None:
    """Draws the button that shows more earlier turns, and the field that jumps to a turn by its number."""
    more = turns[0].number - 1 if turns else 0
    if view.session is None or (more < 1 and not away(view)):
        st.empty()
        return
    with st.container(key="earlier", horizontal=True, horizontal_alignment="center", vertical_alignment="bottom"):
        if more:
            st.button(
                view.words("chat.earlier", count=min(WINDOW, more)),
                key="load-earlier",
                icon=":material/history:",
                type="tertiary",
                on_click=widen,
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
    dismiss = partial(trying, partial(view.jobs.dismiss, session))
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
    st.session_state[DRAFT] = refused.text
    trying(partial(view.jobs.dismiss, view.session_id or ""))


def _draw_queue(view: View, waiting: list[Message]) -> None:
    """Draws the messages that wait for the running answer.

    After a failure or a restart they wait for the user, and every message has a button to send it now.
    """
    words = view.words
    for index, message in enumerate(waiting):
        with st.container(
            key=f"queued-{index}", horizontal=True, vertical_alignment="center", horizontal_alignment="right"
        ):
            label = f":material/schedule: {words('chat.queued')} · {plain(short(message.text, 60))}"
            st.caption(label, width="content")
            if view.job is None:
                resend = partial(view.resend, message)
                st.button(words("chat.send_now"), key=f"send-{index}", on_click=resend)
            cancel, back = words("chat.withdraw"), partial(trying, partial(view.jobs.withdraw, message.id))
            st.button(cancel, key=f"withdraw-{index}", type="tertiary", on_click=back)
    for _ in range(int(st.session_state.get("waiting", 0)) - len(waiting)):
        st.empty()
    st.session_state["waiting"] = len(waiting)
