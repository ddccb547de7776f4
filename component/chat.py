"""The conversation: the last turns, the answer that grows, the messages that wait, or an invitation to begin."""

from __future__ import annotations

from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from component import resource
from component.elsewhere import draw_elsewhere
from component.failure import draw_error, toast
from component.invitation import draw_invitation
from component.job import Refused
from component.jump import WINDOW, away, draw_leap, onward, widen, window
from component.live import Live
from component.markdown import plain, short
from component.stage import stage
from component.trash import draw_deleted
from component.turn import draw_question, draw_turn
from component.view import DRAFT, View, to_newest, told, trying
from store import Turn
from store.outbox import Message


def draw_chat(view: View) -> tuple[list[Turn], Live | None, list[DeltaGenerator]]:
    """Draws the conversation.

    Returns the last turns, the place of the running answer if one runs and is in sight, and where else the model's
    state is shown.
    """
    job, refused = view.job, view.jobs.refused(view.session_id)
    turns, elsewhere = _turns(view)
    waiting = view.jobs.queued(view.session_id)
    inviting = not (turns or job or refused or waiting)
    again = job.turn if job and (job.again or job.version) else None
    path = tuple(view.session.path) if view.session and again is None else None
    live, places = None, []
    with (
        st.container(height=160, key=f"chat-{view.session_id or 'new'}", border=False, autoscroll=True),
        stage("talk", (view.session_id, inviting, again, path)),
    ):
        if inviting:
            places = draw_invitation(view)
        else:
            live = _draw_turns(view, turns, elsewhere)
        _draw_notices(view, waiting)
    return _last(view, turns), live, places


def _draw_turns(view: View, turns: list[Turn], elsewhere: bool) -> Live | None:
    job = view.job
    with st.container(key="turns"):
        _draw_earlier(view, turns)
        numbers = [turn.number for turn in turns]
        versions = view.store.tree.alternatives(view.session_id, numbers) if view.session_id and turns else {}
        for turn in turns:
            last = job is None and turn is turns[-1] and not away(view)
            if elsewhere and turn is turns[-1]:
                draw_question(view, turn.question, str(turn.number))
                draw_elsewhere(view, turn)
            else:
                draw_turn(view, turn, last, versions.get(turn.number))
        if away(view):
            _draw_later(view)
            return None
        if job is None:
            return None
        draw_question(view, job.question, str(job.turn))
        return Live(view.words, job)


def _draw_notices(view: View, waiting: list[Message]) -> None:
    """What stands below the last turn: a message that was not sent, an error to tell, messages that wait."""
    draw_deleted(view)
    refused = view.jobs.refused(view.session_id)
    if refused and view.session_id:
        with st.container(key="refused"):
            _draw_refused(view, view.session_id, refused)
    else:
        st.empty()
    error = told()
    if error:
        draw_error(view.words, error)
        toast(view.words, error)
    else:
        st.empty()
    _draw_queue(view, waiting)


def _turns(view: View) -> tuple[list[Turn], bool]:
    """The last turns, and whether another program answers the last one.

    An answer that was cut off while it was being written down is completed first.
    """
    if view.session_id is None:
        return [], False
    turns, free = window(view), True
    if turns and turns[-1].status == "running" and view.job is None:
        free = resource.agent().reconcile(view.session_id)
        turns = window(view)
    return turns, not free and turns[-1].status == "running"


def _last(view: View, turns: list[Turn]) -> list[Turn]:
    """The last turns, also when others are shown."""
    return view.store.turns(view.session_id, limit=5) if view.session_id and away(view) else turns


def _draw_later(view: View) -> None:
    """The way on from the turns that were gone to."""
    words, session = view.words, view.session_id or ""
    with st.container(key="later", horizontal=True, horizontal_alignment="center"):
        icon = ":material/keyboard_arrow_down:"
        st.button(words("chat.later"), key="load-later", icon=icon, type="tertiary", on_click=onward, args=(session,))
        icon = ":material/vertical_align_bottom:"
        st.button(words("chat.newest"), key="newest", icon=icon, on_click=to_newest, args=(session,))


def _draw_earlier(view: View, turns: list[Turn]) -> None:
    """The ways to turns that are not shown: more of the earlier ones, or any by its number."""
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


def _draw_refused(view: View, session: str, refused: Refused) -> None:
    """A message that was not sent: why, and the ways on."""
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


def _to_draft(view: View, refused: Refused) -> None:
    st.session_state[DRAFT] = refused.text
    trying(partial(view.jobs.dismiss, view.session_id or ""))


def _draw_queue(view: View, waiting: list[Message]) -> None:
    """The messages that wait for the running answer; after a failure or a restart they wait for the user."""
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
