"""The conversation: the last turns, the answer that grows, the messages that wait, or an invitation to begin."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import streamlit as st

from component.failure import draw_error
from component.live import Live
from component.markdown import plain, short
from component.page import MARK
from component.turn import draw_question, draw_turn
from component.view import DRAFT, View, told
from store import Turn

WINDOW = 20
SAMPLES = ("sample.1", "sample.2", "sample.3")


def draw_chat(view: View) -> tuple[list[Turn], Live | None]:
    """Draws the conversation. Returns the turns that it shows and the place of the running answer, if one runs."""
    job = view.job
    turns = _turns(view)
    with st.container(height=160, key=f"chat-{view.session_id or 'new'}", border=False, autoscroll=True):
        error = told()
        if error:
            draw_error(view.words, error)
        if not turns and not job and not view.jobs.refused(view.session_id):
            _draw_invitation(view)
            return turns, None
        _draw_earlier(view, turns)
        kept = [turn for turn in turns if job is None or turn.number < job.turn]
        for turn in kept:
            draw_turn(view, turn, last=job is None and turn is kept[-1])
        live = None
        if job:
            draw_question(view, job.question, str(job.turn))
            live = Live(view.words, job)
        _draw_refused(view)
        _draw_queue(view)
    return kept, live


def _turns(view: View) -> list[Turn]:
    if view.session_id is None:
        return []
    size = int(st.session_state.get(f"window-{view.session_id}", WINDOW))
    return view.store.turns(view.session_id, limit=size)


def _draw_earlier(view: View, turns: list[Turn]) -> None:
    if not turns or turns[0].number <= 1:
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
        st.html(f'<div class="gieok-hero" aria-hidden="true">{Path(MARK).read_text("utf-8")}</div>')
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
    words, session = view.words, view.session_id
    for index, text in enumerate(view.jobs.queued(session)):
        if session is None:
            return
        with st.container(key=f"queued-{index}", horizontal=True, vertical_alignment="center", horizontal_alignment="right"):
            st.caption(f":material/schedule: {words('chat.queued')} · {plain(short(text, 60))}", width="content")
            st.button(
                words("chat.withdraw"),
                key=f"withdraw-{index}",
                type="tertiary",
                on_click=partial(view.jobs.withdraw, session, index),
            )
