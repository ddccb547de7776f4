"""The conversation: the last turns, the answer that grows, the messages that wait, or an invitation to begin."""

from __future__ import annotations

from functools import partial

import streamlit as st

from component import resource
from component.failure import draw_error
from component.job import Refused
from component.live import Live
from component.markdown import plain, short
from component.model_status import privacy
from component.page import mark_address
from component.stage import stage
from component.turn import draw_question, draw_turn
from component.view import DRAFT, View, told
from store import Turn

WINDOW = 20
SAMPLES = ("sample.1", "sample.2", "sample.3")


def draw_chat(view: View) -> tuple[list[Turn], Live | None]:
    """Draws the conversation. Returns the turns that it shows and the place of the running answer, if one runs."""
    job, refused = view.job, view.jobs.refused(view.session_id)
    turns = [turn for turn in _turns(view) if job is None or turn.number < job.turn]
    inviting = not turns and not job and not refused
    again = job.turn if job and (job.again or job.version) else None
    path = tuple(view.session.path) if view.session and again is None else None
    live = None
    with (
        st.container(height=160, key=f"chat-{view.session_id or 'new'}", border=False, autoscroll=True),
        stage("talk", (view.session_id, inviting, again, path)),
    ):
        if inviting:
            _draw_invitation(view)
        else:
            live = _draw_turns(view, turns)
        _draw_notices(view)
    return turns, live


def _draw_turns(view: View, turns: list[Turn]) -> Live | None:
    job = view.job
    with st.container(key="turns"):
        _draw_earlier(view, turns)
        numbers = [turn.number for turn in turns]
        versions = view.store.tree.alternatives(view.session_id, numbers) if view.session_id and turns else {}
        for turn in turns:
            last = job is None and turn is turns[-1]
            draw_turn(view, turn, last, versions.get(turn.number))
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
    size = int(st.session_state.get(f"window-{view.session_id}", WINDOW))
    turns = view.store.turns(view.session_id, limit=size)
    if turns and turns[-1].status == "running" and view.job is None:
        resource.agent().reconcile(view.session_id)
        turns = view.store.turns(view.session_id, limit=size)
    return turns


def _draw_earlier(view: View, turns: list[Turn]) -> None:
    if not turns or turns[0].number <= 1:
        st.empty()
        return
    with st.container(key="earlier", horizontal_alignment="center"):
        label = view.words("chat.earlier", count=min(WINDOW, turns[0].number - 1))
        st.button(label, key="load-earlier", icon=":material/history:", type="tertiary", on_click=partial(_widen, view))


def _widen(view: View) -> None:
    name = f"window-{view.session_id}"
    st.session_state[name] = int(st.session_state.get(name, WINDOW)) + WINDOW


def _draw_invitation(view: View) -> None:
    words = view.words
    with st.container(key="invitation", horizontal_alignment="center", gap="small"):
        st.html(f'<div class="gieok-hero"><img alt="" width="56" height="56" src="{mark_address()}"></div>')
        st.markdown(f"## {words('empty.title')}", anchors=False, text_alignment="center")
        st.markdown(words("empty.text"), text_alignment="center")
        with st.container(key="samples", gap="small"):
            for name in SAMPLES:
                st.button(
                    words(name),
                    key=name.replace(".", "-"),
                    width="stretch",
                    icon=f":material/{words(name + '.icon')}:",
                    on_click=partial(view.send, words(name)),
                )
        st.caption(privacy(words, view.status), text_alignment="center")


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
        send = partial(view.jobs.send, session, refused.text)
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
