"""The conversation: the last turns, the answer that grows, the messages that wait, or an invitation to begin."""

from __future__ import annotations

from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from component import resource
from component.failure import draw_error
from component.invitation import draw_invitation
from component.job import Refused
from component.jump import WINDOW, away, onward, widen, window
from component.live import Live
from component.markdown import plain, short
from component.stage import stage
from component.turn import draw_question, draw_turn
from component.view import DRAFT, View, to_newest, told
from store import Turn


def draw_chat(view: View) -> tuple[list[Turn], Live | None, list[DeltaGenerator]]:
    """Draws the conversation.

    Returns the last turns, the place of the running answer if one runs and is in sight, and where else the model's
    state is shown.
    """
    job, refused = view.job, view.jobs.refused(view.session_id)
    turns = [turn for turn in _turns(view) if job is None or turn.number < job.turn]
    inviting = not turns and not job and not refused
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
            live = _draw_turns(view, turns)
        _draw_notices(view)
    return _last(view, turns), live, places


def _draw_turns(view: View, turns: list[Turn]) -> Live | None:
    job = view.job
    with st.container(key="turns"):
        _draw_earlier(view, turns)
        numbers = [turn.number for turn in turns]
        versions = view.store.tree.alternatives(view.session_id, numbers) if view.session_id and turns else {}
        for turn in turns:
            last = job is None and turn is turns[-1] and not away(view)
            draw_turn(view, turn, last, versions.get(turn.number))
        if away(view):
            _draw_later(view)
            return None
        if job is None:
            return None
        draw_question(view, job.question, str(job.turn))
        return Live(view.words, job)


def _draw_notices(view: View) -> None:
    """What stands below the last turn: a message that was not sent, an error to tell, messages that wait."""
    refused = view.jobs.refused(view.session_id)
    if refused and view.session_id:
        with st.container(key="refused"):
            _draw_refused(view, view.session_id, refused)
    else:
        st.empty()
    error = told()
    if error:
        draw_error(view.words, error)
    else:
        st.empty()
    _draw_queue(view)


def _turns(view: View) -> list[Turn]:
    """The last turns; an answer that was cut off while it was being written down is completed first."""
    if view.session_id is None:
        return []
    turns = window(view)
    if turns and turns[-1].status == "running" and view.job is None:
        resource.agent().reconcile(view.session_id)
        turns = window(view)
    return turns


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
    if not turns or turns[0].number <= 1:
        st.empty()
        return
    with st.container(key="earlier", horizontal_alignment="center"):
        label = view.words("chat.earlier", count=min(WINDOW, turns[0].number - 1))
        st.button(
            label,
            key="load-earlier",
            icon=":material/history:",
            type="tertiary",
            on_click=widen,
            args=(view.session_id,),
        )


def _draw_refused(view: View, session: str, refused: Refused) -> None:
    """A message that was not sent: why, and the ways on."""
    words = view.words
    if not refused.again:
        draw_question(view, refused.text, "refused")
    if refused.error:
        draw_error(words, refused.error)
    else:
        st.info(words("chat.not_sent"), icon=":material/info:")
    with st.container(horizontal=True, key="refused-actions"):
        if refused.again:
            st.button(words("chat.dismiss"), key="dismiss", on_click=_dismiss, args=(view, session))
            return
        if refused.turn is not None:
            st.button(words("chat.to_draft"), key="to-draft", on_click=_to_draft, args=(view, session))
            st.button(words("chat.dismiss"), key="dismiss", on_click=_dismiss, args=(view, session))
            return
        edit, resend = words("chat.to_draft"), words("chat.send_again")
        st.button(edit, key="to-draft", icon=":material/edit:", on_click=_to_draft, args=(view, session))
        send = partial(view.jobs.send, session, refused.text, view.readiness)
        st.button(resend, key="send-again", icon=":material/refresh:", on_click=send)


def _dismiss(view: View, session: str) -> None:
    view.jobs.dismiss(session)


def _to_draft(view: View, session: str) -> None:
    refused = view.jobs.dismiss(session)
    if refused:
        st.session_state[DRAFT] = refused.text


def _draw_queue(view: View) -> None:
    """The messages that wait for the running answer; after a failure they wait for the user."""
    words, session = view.words, view.session_id or ""
    waiting = view.jobs.queued(session)
    for index, text in enumerate(waiting):
        with st.container(
            key=f"queued-{index}", horizontal=True, vertical_alignment="center", horizontal_alignment="right"
        ):
            label = f":material/schedule: {words('chat.queued')} · {plain(short(text, 60))}"
            st.caption(label, width="content")
            if view.job is None:
                st.button(words("chat.send_now"), key=f"send-{index}", on_click=_send_now, args=(view, session, index))
            cancel = words("chat.withdraw")
            st.button(cancel, key=f"withdraw-{index}", type="tertiary", on_click=_withdraw, args=(view, session, index))
    for _ in range(int(st.session_state.get("waiting", 0)) - len(waiting)):
        st.empty()
    st.session_state["waiting"] = len(waiting)


def _send_now(view: View, session: str, index: int) -> None:
    text = view.jobs.withdraw(session, index)
    if text:
        view.send(text)


def _withdraw(view: View, session: str, index: int) -> None:
    view.jobs.withdraw(session, index)
