"""The window of one summary: its turns beside it, facts kept and lost, its versions, and the ways to change it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from component.page import window
from component.page.catalogue import Words
from component.page.view import View
from component.panel.summary_history import describe_head, format_summary_length, round_to_percent
from component.widget.failure import draw_error
from component.widget.markdown import escape_markdown
from component.widget.marked import render_marked_changes, render_marked_facts
from component.widget.wait import redraw_when_done
from component.work import resource
from component.work.side_call import SideCall
from errors import GieokError
from graph.answer.documents import brought_chars
from graph.summary import Writer
from store import SummaryRow, TurnRow

NAME = "revision"


def ask_revision(first_turn: int) -> None:
    """Opens the window of the summary that begins with this turn."""
    window.open_page_window(NAME, first_turn)


def draw_revision(view: View, first: int) -> None:
    """Draws the window of the summary that begins with turn ``first``. Closing the window also stops a new summary that
    is being made in it."""
    session = view.session_id
    if session is None:
        window.close_page_window()
        return
    leave = partial(resource.side_calls().dismiss, _build_remake_key(session, first))
    window.render_page_window(
        view.words("revision.title"), lambda: _render_revision(view, session, first), width="large", leave=leave
    )


def _build_remake_key(session: str, first: int) -> tuple[str, str, int]:
    """Returns the key of the side call that makes this summary again."""
    return ("remake", session, first)


def _render_revision(view: View, session: str, first: int) -> None:
    words, agent = view.words, resource.find_page_agent()
    side_call = resource.side_calls().of(_build_remake_key(session, first))
    running = side_call is not None and not side_call.done  # asked before the versions are read: they may lack its own
    if side_call is not None and not running and side_call.error is None:
        resource.side_calls().dismiss(_build_remake_key(session, first))
    versions = agent.summary_versions(session, first)
    valid = [version for version in versions if version.status != "superseded"]
    if not valid:
        st.caption(words("panel.none"))
        return
    now = valid[-1]
    _render_revision_head(view, now)
    left, right = st.columns(2, gap="medium")
    with left:
        st.caption(words("revision.source"))
        st.html(f'<div class="gieok-marked">{_render_summary_source(view, session, now)}</div>')
    with right:
        st.caption(words("revision.summary"))
        st.html(f'<div class="gieok-marked">{render_marked_facts(_read_summary_text(now), now.kept)}</div>')
        _draw_edit(view, session, first, now)
    _draw_remake(view, session, first, now, running=running)
    _render_summary_versions(view, session, first, versions, now)
    st.caption(f":material/info: {words('revision.follows')}")


def _render_revision_head(view: View, now: SummaryRow) -> None:
    words = view.words
    st.markdown(
        f"**{escape_markdown(describe_head(words, now))}** :gray[{escape_markdown(_format_summary_facts(view, now))}]"
    )
    st.html(
        f'<p class="gieok-key"><mark class="kept">{words("revision.kept", count=len(now.kept))}</mark> '
        f'<mark class="lost">{words("revision.lost", count=len(now.lost))}</mark></p>'
    )
    st.caption(words("revision.facts"))


def _format_summary_facts(view: View, summary: SummaryRow) -> str:
    record = summary.record or {}
    rows = view.store.turns_between(summary.session_id, summary.turns[0], summary.turns[-1])
    size = format_summary_length(view.words, record, sum(brought_chars(turn.steps) for turn in rows))
    origin = view.words(f"revision.origin.{summary.origin}")
    return f"{view.words('panel.rate', percent=round_to_percent(summary.rate))} · {size} · {origin}"


def _render_summary_source(view: View, session: str, now: SummaryRow) -> str:
    rows = view.store.turns_between(session, now.turns[0], now.turns[-1])
    return render_turns(view.words, rows, now.kept, now.lost)


def render_turns(words: Words, turns: Sequence[TurnRow], kept: Sequence[str], lost: Sequence[str]) -> str:
    """Returns the HTML of the turns that a summary is made from; the facts that it kept and lost are marked."""
    user, ai = words("revision.user"), words("revision.ai")
    return "".join(
        f"<h4>{turn.number}</h4><p><b>{user}</b> {render_marked_facts(turn.question, kept, lost)}</p>"
        f"<p><b>{ai}</b> {render_marked_facts(turn.answer or '', kept, lost)}</p>"
        for turn in turns
    )


def _read_summary_text(summary: SummaryRow) -> str:
    return str((summary.record or {}).get("summary", ""))


def _draw_edit(view: View, session: str, first: int, now: SummaryRow) -> None:
    words = view.words
    with st.expander(words("revision.edit"), icon=":material/edit:"):
        text = st.text_area(
            words("revision.edit"),
            _read_summary_text(now),
            key=f"rewrite-{now.id}",
            height=180,
            label_visibility="collapsed",
        )
        if st.button(words("revision.save"), key=f"save-{now.id}", type="primary") and text != _read_summary_text(now):
            _change_summary(view, lambda: resource.find_page_agent().edit_summary(session, first, text))


def _draw_remake(view: View, session: str, first: int, now: SummaryRow, *, running: bool) -> None:
    """Draws the slider and the buttons that make the summary again, in a side call that the user can stop. ``running``:
    whether it ran when the window began to be drawn; if it has ended since, the window is drawn anew."""
    words, key = view.words, _build_remake_key(session, first)
    side_call = resource.side_calls().of(key)
    with st.container(horizontal=True, vertical_alignment="bottom", key="remake"):
        rate = f"remake-rate-{now.id}"
        st.slider(words("rate.label"), 0.1, 0.5, now.rate, 0.05, key=rate)
        start = partial(_start_summary_remake, view, session, first, rate)
        idle = view.status.state == "ready" and not running
        st.button(
            words("revision.remake"), key="remake-go", icon=":material/refresh:", on_click=start, disabled=not idle
        )
        if view.status.extracts:
            rewrite = partial(_start_summary_remake, view, session, first, rate, "model")
            st.button(
                words("revision.rewrite"), key="rewrite-go", icon=":material/edit_note:", on_click=rewrite,
                disabled=not idle, help=words("revision.rewrite.about"),
            )  # fmt: skip
        if running:
            stop, icon = partial(resource.side_calls().dismiss, key), ":material/stop_circle:"
            st.button(words("chat.stop"), key="remake-stop", icon=icon, on_click=stop)
    if side_call is not None and running:
        st.markdown(f":shimmer[{words('step.summarising', first=now.turns[0], last=now.turns[-1])}]")
        redraw_when_done(side_call)
    elif side_call is not None and side_call.error is not None:
        draw_error(words, side_call.error)


def _start_summary_remake(view: View, session: str, first: int, slider: str, writer: Writer | None = None) -> None:
    """Starts the side call with the rate that ``slider`` has now: a move of it may arrive together with the press."""
    agent, rate = view.agent, float(st.session_state[slider])

    def work(side_call: SideCall) -> SummaryRow:
        return agent.remake_summary(session, first, rate, stop=side_call.stop, writer=writer)

    resource.side_calls().start(_build_remake_key(session, first), work)


def _render_summary_versions(view: View, session: str, first: int, versions: list[SummaryRow], now: SummaryRow) -> None:
    words = view.words
    if len(versions) < 2:
        return
    st.markdown(f"**{words('revision.versions')}**")
    for version in reversed(versions):
        with st.container(horizontal=True, vertical_alignment="center", key=f"version-{version.id}"):
            mark = ":material/check: " if version.id == now.id else ""
            st.markdown(
                f"{mark}**{version.version}** :gray[{escape_markdown(_format_summary_facts(view, version))}]",
                width="stretch",
            )
            if version.id != now.id:
                use = partial(resource.find_page_agent().choose_summary, session, first, version.version)
                if st.button(words("revision.use"), key=f"use-{version.id}", icon=":material/undo:"):
                    _change_summary(view, use)
    others = [version for version in versions if version.id != now.id]
    with st.expander(words("revision.diff", version=others[-1].version), expanded=True):
        st.html(
            '<div class="gieok-marked">'
            f"{render_marked_changes(_read_summary_text(others[-1]), _read_summary_text(now))}</div>"
        )


def _change_summary(view: View, action: object) -> None:
    try:
        assert callable(action)
        action()
    except GieokError as error:
        draw_error(view.words, error)
    else:
        st.rerun()
