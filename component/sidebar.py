"""The left side: a new chat, the conversations, the settings that matter while chatting, the model, the language."""

from __future__ import annotations

from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from component.advice import draw_advice
from component.finder import draw_finder
from component.help import ask_help
from component.markdown import plain, short
from component.model_status import draw_model
from component.options import ask_options, draw_language
from component.session import age, ask_import, draw_imported, draw_session_menu, moment
from component.trash import draw_entry, draw_undo
from component.view import RATE_NEW, View, show, show_documents, trying

PAGE = 30
TITLE_CHARS = 34
_MARKS = (("0.1", "short"), ("0.3", "balanced"), ("0.5", "detailed"))


def draw_sidebar(view: View) -> DeltaGenerator:
    """Draws the side; returns the place of the model's state."""
    words = view.words
    with st.sidebar:
        st.button(
            words("session.create"),
            key="new-chat",
            icon=":material/edit_square:",
            width="stretch",
            type="primary",
            on_click=show,
            args=(None,),
        )
        st.button(
            words("documents.title"),
            key="documents-open",
            icon=":material/folder_open:",
            width="stretch",
            on_click=show_documents,
        )
        draw_undo(view)
        draw_imported(view)
        if not draw_finder(view):
            with st.container(key="sessions", gap=None):
                _draw_sessions(view)
        with st.container(key="side-foot", gap="small"):
            with st.container(key="rate"), st.expander(words("settings.title"), expanded=True):
                _draw_rate(view)
            place = _draw_model(view)
            draw_language(words, "language", label_visibility="collapsed", width="stretch")
            _draw_foot(view)
    return place


def _draw_sessions(view: View) -> None:
    words = view.words
    count = int(st.session_state.get("session-count", PAGE))
    sessions = view.store.sessions(limit=count + 1)
    if not sessions:
        st.caption(words("session.none"))
    part = None
    for session in sessions[:count]:
        if (now := age(session)) != part:
            part = now
            st.caption(words(f"session.age.{now}"))
        here = session.id == view.session_id
        title = plain(short(" ".join(session.title.split()), TITLE_CHARS)) or words("session.new")
        name = f"{'here' if here else 'there'}-{session.id}"
        row = st.container(key=name, horizontal=True, vertical_alignment="center", wrap=False, gap=None)
        with row:
            st.button(
                title,
                key=f"open-{session.id}",
                icon=":material/more_horiz:" if view.jobs.of(session.id) else None,
                type="tertiary",
                width="stretch",
                wrap=False,
                help=moment(session.updated),
                on_click=show,
                args=(session.id,),
            )
            if here:
                draw_session_menu(view, session)
    if len(sessions) > count:
        st.button(words("session.more"), key="more-sessions", type="tertiary", on_click=_more)
    draw_entry(view)


def _more() -> None:
    st.session_state["session-count"] = int(st.session_state.get("session-count", PAGE)) + PAGE


def _draw_rate(view: View) -> None:
    """The slider of context-managing.md «Sidebar 설정»."""
    words = view.words
    key = f"rate-{view.session_id}" if view.session_id else RATE_NEW
    if moved := st.session_state.get(key, view.rate) != view.rate:  # in another tab
        st.session_state[key] = view.rate
    st.slider(
        words("rate.label"),
        min_value=0.1,
        max_value=0.5,
        value=None if moved else view.rate,
        step=0.05,
        help=words("rate.help"),
        key=key,
        on_change=_set_rate,
        args=(view, key),
    )
    marks = "".join(f"<span>{rate}<br>{words('rate.' + name)}</span>" for rate, name in _MARKS)
    st.html(f'<div class="gieok-marks" aria-hidden="true">{marks}</div>')


def _set_rate(view: View, key: str) -> None:
    if view.session_id is not None:
        trying(partial(view.store.set_rate, view.session_id, float(st.session_state[key])))


def _draw_model(view: View) -> DeltaGenerator:
    with st.container(key="model", gap="xsmall"):
        st.caption(view.words("model.title"))
        place = draw_model(view.words, view.readiness, view.status)
        draw_advice(view)
        return place


def _draw_foot(view: View) -> None:
    """The ways to the settings, the help and the import."""
    words = view.words
    with st.container(key="foot", horizontal=True, gap="xsmall", wrap=True):
        for name, icon, action in (("options", "settings", ask_options), ("help", "help", ask_help)):
            label, icon = words(f"{name}.open"), f":material/{icon}:"
            st.button(label, key=f"open-{name}-window", type="tertiary", icon=icon, on_click=action)
        label = words("session.import")
        st.button(label, key="import", type="tertiary", icon=":material/upload:", on_click=ask_import)
