"""The conversation: the last turns, the answer that grows, the messages that wait, or an invitation to begin."""

from __future__ import annotations

from functools import partial

import streamlit as st

from component.failure import draw_error
from component.live import Live
from component.markdown import plain, short
from component.page import MARK
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
    again = job.turn if job and job.again else None
    live = None
    with (
        st.container(height=160, key=f"chat-{view.session_id or 'new'}", border=False, autoscroll=True),
        stage("talk", (view.session_id, inviting, again)),
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
        for turn in turns:
            draw_turn(view, turn, last=job is None and turn is turns[-1])
        if job is None:
            return None
        draw_question(view, job.question, str(job.turn))
        return Live(view.words, job)


def _draw_notices(view: View) -> None:
    """What stands below the last turn: a message that was not sent, an error to tell, messages that wait."""
    if view.jobs.refused(view.session_id):
        with st.container(key="refused"):
            _draw_refused(view)
    else:
        st.empty()
    error = told()
    if error:
        draw_error(view.words, error)
    else:
        st.empty()
    _draw_queue(view)


def _turns(view: View) -> list[Turn]:
    if view.session_id is None:
        return []
    size = int(st.session_state.get(f"window-{view.session_id}", WINDOW))
    return view.store.turns(view.session_id, limit=size)


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
        st.image(MARK, width=56)
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
        st.caption(words("empty.privacy"), text_alignment="center")


def _draw_refused(view: View) -> None:
    """A message that was not sent: why, and the ways on."""
    refused = view.jobs.refused(view.session_id)
    if refused is None or view.session_id is None:
        return
    words, session = view.words, view.session_id
    if not refused.again:
        draw_question(view, refused.text, "refused")
    if refused.error:
        draw_error(words, refused.error)
    else:
        st.info(words("chat.not_sent"), icon=":material/info:")
    with st.container(horizontal=True, key="refused-actions"):
        if not refused.again:
            st.button(words("chat.to_draft"), key="to-draft", icon=":material/edit:", on_click=partial(_to_draft, view))
            st.button(
                words("chat.send_again"),
                key="send-again",
                icon=":material/refresh:",
                on_click=partial(view.jobs.send, session, refused.text),
            )
        else:
            st.button(words("chat.dismiss"), key="dismiss", on_click=partial(view.jobs.dismiss, session))


def _to_draft(view: View) -> None:
    refused = view.jobs.dismiss(view.session_id) if view.session_id else None
    if refused:
        st.session_state[DRAFT] = refused.text


def _draw_queue(view: View) -> None:
    """The messages that wait for the running answer; after a failure they wait for the user."""
    waiting = view.jobs.queued(view.session_id)
    for index, text in enumerate(waiting):
        with st.container(key=f"queued-{index}", horizontal=True, vertical_alignment="center", horizontal_alignment="right"):
            label = f":material/schedule: {view.words('chat.queued')} · {plain(short(text, 60))}"
            st.caption(label, width="content")
            withdraw = partial(view.jobs.withdraw, view.session_id or "", index)
            st.button(view.words("chat.withdraw"), key=f"withdraw-{index}", type="tertiary", on_click=withdraw)
    for _ in range(int(st.session_state.get("waiting", 0)) - len(waiting)):
        st.empty()
    st.session_state["waiting"] = len(waiting)
