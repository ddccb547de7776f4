"""A summary looked at closely: its turns beside it, what it kept and lost, its versions, and the ways to change it."""

from __future__ import annotations

from functools import partial

import streamlit as st

from component import resource, window
from component.errand import Errand
from component.failure import draw_error
from component.markdown import plain
from component.marked import changed, marked
from component.view import View
from errors import GieokError
from graph.summary import Writer
from store import Summary

NAME = "revision"
BEAT = 0.4


def ask_revision(first_turn: int) -> None:
    """Opens the window."""
    window.ask(NAME, first_turn)


def draw_revision(view: View, first: int) -> None:
    """The window of the summary that begins with turn ``first``; closing it also ends a summary being made there."""
    session = view.session_id
    if session is None:
        window.shut()
        return
    leave = partial(resource.errands().dismiss, _key(session, first))
    window.draw(view.words("revision.title"), lambda: _draw(view, session, first), width="large", leave=leave)


def _key(session: str, first: int) -> tuple[str, str, int]:
    """What names the making of one summary among the errands."""
    return ("remake", session, first)


def _draw(view: View, session: str, first: int) -> None:
    words, agent = view.words, resource.agent()
    errand = resource.errands().of(_key(session, first))
    if errand is not None and errand.done and errand.error is None:
        resource.errands().dismiss(_key(session, first))
    versions = agent.summary_versions(session, first)
    counting = [each for each in versions if each.status != "superseded"]
    if not counting:
        st.caption(words("panel.none"))
        return
    now = counting[-1]
    _draw_head(view, now)
    left, right = st.columns(2, gap="medium")
    with left:
        st.caption(words("revision.source"))
        st.html(f'<div class="gieok-marked">{_source(view, session, now)}</div>')
    with right:
        st.caption(words("revision.summary"))
        st.html(f'<div class="gieok-marked">{marked(_text(now), now.kept)}</div>')
        _draw_edit(view, session, first, now)
    _draw_remake(view, session, first, now)
    _draw_versions(view, session, first, versions, now)
    st.caption(f":material/info: {words('revision.follows')}")


def _draw_head(view: View, now: Summary) -> None:
    words = view.words
    head = words("summary.head", first=now.turns[0], last=now.turns[-1])
    st.markdown(f"**{plain(head)}** :gray[{plain(_facts(view, now))}]")
    st.html(
        f'<p class="gieok-key"><mark class="kept">{words("revision.kept", count=len(now.kept))}</mark> '
        f'<mark class="lost">{words("revision.lost", count=len(now.lost))}</mark></p>'
    )


def _facts(view: View, summary: Summary) -> str:
    record = summary.record or {}
    length = view.words("summary.length", original=record["original_chars"], summary=record["summary_chars"])
    origin = view.words(f"revision.origin.{summary.origin}")
    return f"{view.words('panel.rate', rate=f'{summary.rate:g}')} · {length} · {origin}"


def _source(view: View, session: str, now: Summary) -> str:
    rows = view.store.turns_between(session, now.turns[0], now.turns[-1])
    user, ai = view.words("revision.user"), view.words("revision.ai")
    return "".join(
        f"<h4>{turn.number}</h4><p><b>{user}</b> {marked(turn.question, now.kept, now.lost)}</p>"
        f"<p><b>{ai}</b> {marked(turn.answer or '', now.kept, now.lost)}</p>"
        for turn in rows
    )


def _text(summary: Summary) -> str:
    return str((summary.record or {}).get("summary", ""))


def _draw_edit(view: View, session: str, first: int, now: Summary) -> None:
    words = view.words
    with st.expander(words("revision.edit"), icon=":material/edit:"):
        text = st.text_area(
            words("revision.edit"), _text(now), key=f"rewrite-{now.id}", height=180, label_visibility="collapsed"
        )
        if st.button(words("revision.save"), key=f"save-{now.id}", type="primary") and text != _text(now):
            _change(view, lambda: resource.agent().edit_summary(session, first, text))


def _draw_remake(view: View, session: str, first: int, now: Summary) -> None:
    """Another rate; the model works apart from the page, and can be stopped."""
    words, key = view.words, _key(session, first)
    errand = resource.errands().of(key)
    running = errand is not None and not errand.done
    with st.container(horizontal=True, vertical_alignment="bottom", key="remake"):
        rate = st.slider(words("rate.label"), 0.1, 0.5, now.rate, 0.05, key=f"remake-rate-{now.id}")
        start = partial(_start, view, session, first, rate)
        idle = view.status.state == "ready" and not running
        st.button(
            words("revision.remake"), key="remake-go", icon=":material/refresh:", on_click=start, disabled=not idle
        )
        if view.status.extracts:
            rewrite = partial(_start, view, session, first, rate, "model")
            st.button(
                words("revision.rewrite"), key="rewrite-go", icon=":material/edit_note:", on_click=rewrite,
                disabled=not idle, help=words("revision.rewrite.about"),
            )  # fmt: skip
        if running:
            stop, icon = partial(resource.errands().dismiss, key), ":material/stop_circle:"
            st.button(words("chat.stop"), key="remake-stop", icon=icon, on_click=stop)
    if errand is not None and running:
        st.markdown(f":shimmer[{words('step.summarising', first=now.turns[0], last=now.turns[-1])}]")
        wait(errand)
    elif errand is not None and errand.error is not None:
        draw_error(words, errand.error)


def _start(view: View, session: str, first: int, rate: float, writer: Writer | None = None) -> None:
    agent = view.agent

    def work(errand: Errand) -> Summary:
        return agent.remake_summary(session, first, rate, stop=errand.stop, writer=writer)

    resource.errands().start(_key(session, first), work)


def wait(errand: Errand) -> None:
    """Draws the page anew once it is done. A run that waited would keep the window's own widgets waiting."""

    @st.fragment(run_every=BEAT)
    def look() -> None:
        if errand.done:
            st.rerun()

    look()


def _draw_versions(view: View, session: str, first: int, versions: list[Summary], now: Summary) -> None:
    words = view.words
    if len(versions) < 2:
        return
    st.markdown(f"**{words('revision.versions')}**")
    for each in reversed(versions):
        with st.container(horizontal=True, vertical_alignment="center", key=f"version-{each.id}"):
            mark = ":material/check: " if each.id == now.id else ""
            st.markdown(f"{mark}**{each.version}** :gray[{plain(_facts(view, each))}]", width="stretch")
            if each.id != now.id:
                use = partial(resource.agent().choose_summary, session, first, each.version)
                if st.button(words("revision.use"), key=f"use-{each.id}", icon=":material/undo:"):
                    _change(view, use)
    others = [each for each in versions if each.id != now.id]
    with st.expander(words("revision.diff", version=others[-1].version), expanded=True):
        st.html(f'<div class="gieok-marked">{changed(_text(others[-1]), _text(now))}</div>')


def _change(view: View, action: object) -> None:
    try:
        assert callable(action)
        action()
    except GieokError as error:
        draw_error(view.words, error)
    else:
        st.rerun()
