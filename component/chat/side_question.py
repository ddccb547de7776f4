"""A side question (``/btw``): asked in a window over the page, beside the conversation, which stays as it is.

The answer grows in this process, apart from the page (``component.work.side_call``), so that a refresh does not lose
it. Closing the window drops it; a button makes it the next turn.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from functools import partial

import streamlit as st

from component.page import window
from component.page.view import View, return_chat_message, return_to_input, to_newest
from component.widget.copy_button import copy_button
from component.widget.failure import draw_error, render_raised_error
from component.widget.markdown import escape_markdown, fix_markdown
from component.widget.wait import redraw_when
from component.work import resource
from component.work.side_call import SideCall
from errors import GieokError, NothingBeside, SessionBusy, StorySideQuestion
from graph.turn.session.side_question import SideAnswer, check_side_question, stream_side_answer

NAME = "side"
COMMAND = "/btw"
_TYPED = re.compile(rf"\s*{COMMAND}(?:\s+(.*))?\s*", re.IGNORECASE | re.DOTALL)
BEAT = 0.4


def read_side_command(text: str) -> str | None:
    """Returns the question behind ``/btw``, which may be empty; None for any other text."""
    typed = _TYPED.fullmatch(text)
    return (typed[1] or "").strip() if typed else None


def can_ask_aside(view: View) -> bool:
    """Returns whether a side question can be asked now."""
    return _find_hindrance(view) is None


def ask_side_question(view: View, question: str) -> None:
    """Asks a side question and opens the window of its answer; without a question the window asks for one.

    What cannot be asked goes back into the input, and the page says why. So does what is typed while an earlier answer
    is still to be read: that one is shown first.
    """
    typed = f"{COMMAND} {question}".strip()
    try:
        if (hindrance := _find_hindrance(view)) is not None:
            raise hindrance
        earlier = _find_side_call(str(view.session_id))
        if question.strip() and earlier is not None and not _has_failed(earlier):
            return_to_input(typed)
            window.open_page_window(NAME, earlier.id)
            return
        if question.strip():
            _start_side_call(view, check_side_question(question))
    except GieokError as error:
        return_chat_message(typed, error)
        return
    window.open_page_window(NAME)


def _find_hindrance(view: View) -> GieokError | None:
    """Returns why no side question can be asked now; None when it can."""
    session = view.session
    if session is not None and session.world:
        return StorySideQuestion(session=session.id)
    if session is None or not session.turn_count:
        return NothingBeside()
    if view.jobs.of(session.id) is not None:  # also one that began after the page was drawn
        return SessionBusy(session=session.id)
    return None


def draw_side_question(view: View, about: object = None) -> None:
    """Draws the window; closing it stops the answer and drops it. ``about``: the id of the answer that was still to be
    read when another question was typed, which waits in the input."""
    session = view.session_id
    if session is None:
        window.close_page_window()
        return
    side_call = _find_side_call(session)
    content = partial(_render_side_window, view, session, side_call, about)
    title, leave = view.words("side.title"), partial(_leave_side_window, session, side_call)
    window.render_page_window(title, content, width="medium", leave=leave)


def _leave_side_window(session: str, side_call: SideCall | None) -> None:
    """Drops the answer that the window showed, and none that another tab has asked for meanwhile."""
    if side_call is not None:
        resource.side_calls().dismiss(_build_side_key(session), side_call)


def draw_side_line(view: View) -> None:
    """Draws above the input that a side answer is there while its window is not open: after a refresh, or after a look
    at another conversation."""
    session, opened = view.session_id, window.find_open_window()
    if session is None or (opened is not None and opened[0] == NAME):
        return
    if (side_call := _find_side_call(session)) is None:
        return
    with st.container(key="side-line", horizontal=True, vertical_alignment="center", gap="small", border=True):
        st.caption(view.words("side.waits"), width="stretch")
        st.button(view.words("side.show"), key="side-show", on_click=window.open_page_window, args=(NAME,))
        drop = partial(resource.side_calls().dismiss, _build_side_key(session), side_call)
        st.button(view.words("side.drop"), key="side-drop", type="tertiary", on_click=drop)


def _build_side_key(session: str) -> Hashable:
    return NAME, session


def _find_side_call(session: str) -> SideCall | None:
    return resource.side_calls().of(_build_side_key(session))


def _has_failed(side_call: SideCall) -> bool:
    """Returns whether the call has ended without an answer that can be kept."""
    return side_call.error is not None or (side_call.done and not side_call.text)


def _start_side_call(view: View, question: str) -> None:
    """Asks in a thread of its own, in place of an earlier side question of this conversation."""
    calls, key = resource.side_calls(), _build_side_key(str(view.session_id))
    calls.dismiss(key)
    calls.start(key, _build_side_work(view, question), question)


def _build_side_work(view: View, question: str) -> Callable[[SideCall], SideAnswer | None]:
    agent, means, session = resource.find_page_agent(), view.means, str(view.session_id)

    def work(side_call: SideCall) -> SideAnswer | None:
        if not means.readiness.wait(side_call.stop):
            return None
        model = agent.using(means.readiness.models(), means.budgets).in_zone(means.zone)
        for piece in stream_side_answer(model, session, question, side_call.stop):
            if isinstance(piece, SideAnswer):
                side_call.text = piece.text  # without what has turned out to be a thought
                return piece
            side_call.text += piece
        return None

    return work


def _render_side_window(view: View, session: str, drawn: SideCall | None, about: object) -> None:
    """Draws what a side question is, then the field for it, or the question and its answer. ``drawn``: what the page
    shows; ``about``: as in ``draw_side_question``."""
    st.caption(view.words("side.about"))
    side_call = _find_side_call(session)
    if side_call is not drawn:  # asked or dropped since the page was drawn, maybe in another tab
        st.rerun()
    if side_call is None:
        _render_side_field(view, "")
        return
    if about == side_call.id:
        st.info(view.words("side.earlier"), icon=":material/info:")
    if _has_failed(side_call):
        _draw_side_failure(view, side_call)
        _render_side_field(view, str(side_call.at))
        return
    with st.container(key="side-question"):
        st.markdown(f"**{escape_markdown(str(side_call.at))}**")
    running = not side_call.done
    _follow_side_answer(view, side_call, running)
    with st.container(horizontal=True, vertical_alignment="center", key="side-ways"):
        if running:
            icon, stop = ":material/stop_circle:", side_call.stop.set
            st.button(view.words("chat.stop"), key="side-stop", icon=icon, on_click=stop)
        else:
            _render_side_ways(view, session, side_call)


def _render_side_field(view: View, question: str) -> None:
    words = view.words
    # no callback: a question that is being typed arrives together with the press
    text = st.text_area(words("side.question"), question, key="side-text", height=100)
    busy = view.jobs.of(view.session_id) is not None
    if busy:
        st.caption(words("side.busy"))
    if st.button(words("side.go"), key="side-go", type="primary", disabled=busy) and text.strip():
        _start_side_call(view, text)
        st.rerun()


def _draw_side_failure(view: View, side_call: SideCall) -> None:
    """Draws what had arrived of an answer that broke off, and why it did."""
    if side_call.text:
        with st.container(key="side-answer"):
            st.markdown(fix_markdown(side_call.text))
        copy_button(view.words, side_call.text, "side-copy")
    if side_call.error is not None:
        draw_error(view.words, side_call.error)
    else:
        st.caption(view.words("compare.stopped"))


def _follow_side_answer(view: View, side_call: SideCall, running: bool) -> None:
    """Draws the answer while it grows. ``running``: what this run's buttons were drawn by."""

    def look() -> bool:
        waiting = "live.thinking" if view.readiness.status.state == "ready" else "side.waiting"
        text = side_call.text
        with st.container(key="side-answer"):
            st.markdown(fix_markdown(text) if text else f":shimmer[{view.words(waiting)}]")
        return running and side_call.done

    redraw_when(look, BEAT if running else None)


def _render_side_ways(view: View, session: str, side_call: SideCall) -> None:
    """Draws what can be done with a whole answer: go on from it, copy it, drop it."""
    words, answer = view.words, side_call.result
    # the keys name the answer: a press of another tab's button must not count for one that came meanwhile
    dismiss = partial(resource.side_calls().dismiss, _build_side_key(session), side_call)
    busy = view.jobs.of(session) is not None
    keep = st.button(
        words("side.keep"),
        key=f"side-keep-{side_call.id}",
        icon=":material/subdirectory_arrow_right:",
        type="primary",
        help=words("side.busy") if busy else words("side.keep.about"),
        disabled=busy,
    )
    copy_button(words, side_call.text, "side-copy")
    if st.button(words("side.drop"), key=f"side-close-{side_call.id}", type="tertiary"):
        dismiss()
        window.close_page_window()  # the window sees that it is closed, and draws the page anew
    if keep and isinstance(answer, SideAnswer):
        with render_raised_error(words):
            resource.find_page_agent().keep_side_answer(session, answer)
            dismiss()
            to_newest(session)
            window.close_page_window()
