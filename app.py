"""The page: draws all its parts, in order. Start it with ``streamlit run app.py``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import streamlit as st
from streamlit import config
from streamlit.delta_generator import DeltaGenerator

import settings
from component.answer.citation import draw_source
from component.answer.menu_link import open_asked
from component.answer.past import draw_past_window
from component.chat.chat import draw_chat
from component.chat.composer import draw_attached, render_chat_composer
from component.chat.file import draw_file
from component.chat.minimap import draw_minimap
from component.chat.side_question import draw_side_question
from component.documents.documents_page import draw_documents
from component.memory.known import draw_known
from component.memory.proposal import draw_proposal
from component.memory.version import render_memory_versions
from component.page import window
from component.page.announce import render_announcer
from component.page.catalogue import Words
from component.page.follow import follow_chat_work, follow_documents, watch_answer_end
from component.page.frame import open_page
from component.page.header import draw_header
from component.page.help import draw_help
from component.page.login import draw_login
from component.page.news import look_out, read_page_snapshot
from component.page.palette import draw_palette
from component.page.point import draw_point
from component.page.theme import apply_theme
from component.page.view import View, build_page_view, build_page_words, on_documents, take_page_error
from component.panel.comparison import draw_comparison
from component.panel.panel import draw_panel, render_panel_drawer
from component.panel.revision import draw_revision
from component.panel.summarise import draw_summarise
from component.panel.work_line import draw_work_window, find_work_kinds, watch_work
from component.settings.model_switch import draw_switch
from component.settings.options import draw_options
from component.settings.own_setting import refresh_own
from component.sidebar.bring_in import render_session_import
from component.sidebar.delete import render_session_deletion
from component.sidebar.export import render_session_export
from component.sidebar.session_window import render_session_window
from component.sidebar.sidebar import draw_sidebar
from component.sidebar.trash import draw_trash
from component.usage.usage_window import draw_usage
from component.widget.failure import draw_error, retry_button, show_error_toast
from component.widget.markdown import escape_markdown
from component.widget.streamlit_order import keep_streamlit_order
from component.work import resource, user
from component.world.list.book_window import render_book_export as draw_book_export
from component.world.list.book_window import render_book_import as draw_book_import
from component.world.list.window import draw_change, draw_create
from component.world.list.window import render_world_deletion as draw_delete_world
from component.world.list.world_page import draw_worlds
from component.world.view import on_worlds, read_story
from errors import BadSetting, GieokError, StoreEmptied
from server.network import reach
from server.network.page_connection import limit_page_connections
from server.network.policy import build_page_middleware
from server.phrase import resolve_language

WINDOWS: dict[str, Callable[[View, Any], None]] = {
    "comparison": draw_comparison,
    "delete": render_session_deletion,
    "drawer": render_panel_drawer,
    "export": render_session_export,
    "file": draw_file,
    "help": draw_help,
    "import": render_session_import,
    "known": draw_known,
    "model": draw_switch,
    "options": draw_options,
    "past": draw_past_window,
    "proposal": draw_proposal,
    "revision": draw_revision,
    "session": render_session_window,
    "side": draw_side_question,
    "source": draw_source,
    "summarise": draw_summarise,
    "trash": draw_trash,
    "usage": draw_usage,
    "versions": render_memory_versions,
    "work": draw_work_window,
    "world-change": draw_change,
    "world-delete": draw_delete_world,
    "world-export": draw_book_export,
    "world-import": draw_book_import,
    "world-new": draw_create,
}


def run_page() -> None:
    """Draws the page; Streamlit calls this with every run of the script."""
    try:
        catalogue = build_page_words()
    except GieokError as error:  # a setting cannot be read, so the language is unknown
        st.error(escape_markdown(str(error)))
        return
    open_page(catalogue)
    try:
        if user.find_page_user() is None:
            draw_login(catalogue)
        else:
            refresh_own()
            render_page(build_page_view(build_page_words()))  # the user may have a language of their own
    except GieokError as error:  # the store does not open, or failed just now
        draw_error(catalogue, error)
        retry_button(catalogue("chat.retry"), "open-again", resource.close_shared_agents)
        if isinstance(error, StoreEmptied):
            retry_button(catalogue("store.begin_anew"), "begin-anew", resource.begin_anew, promising=False)


def render_page(view: View) -> None:
    """Draws the whole page, then follows the running work, then looks out for changes by others."""
    drawn, work = read_page_snapshot(view), find_work_kinds(view)
    open_asked()
    # first of all: until a page run has drawn the open window the browser shows none, and its focus is lost
    covered = draw_window(view)
    model = draw_sidebar(view)
    draw_header(view)
    if on_documents():
        draw_library(view, model, drawn, covered)
        return
    if on_worlds():
        draw_stories(view, model, drawn, covered)
        return
    story = read_story(view)
    left, right = st.columns([7, 3], gap="medium", wrap=False)
    with left:
        turns, live, places = draw_chat(view, story)
        draw_minimap(view, turns)
        adding = draw_attached(view)
        render_chat_composer(view, story)
    with right.container(height=160, key="panel", border=False):
        panel = draw_panel(view, turns, story)
    st.empty()  # keeps the place of the documents
    st.empty()  # and of the worlds
    render_announcer(view.words, view.session_id, view.job, "panel.title" if story is None else "world.panel")
    draw_palette(view)
    apply_theme()
    draw_point()
    if covered:
        watch_answer_end(view, live)
    else:
        follow_chat_work(view, live, panel, [model, *places], turns, adding, story)
        watch_work(view, panel.work, work)
        look_out(view, drawn)


def draw_library(view: View, model: DeltaGenerator, drawn: tuple[Any, ...], covered: bool) -> None:
    """Draws the page of the documents. ``covered``: a window is open over it."""
    error = take_page_error()
    if error:
        show_error_toast(view.words, error)
    st.empty()  # keeps the place of the conversation
    adding = draw_documents(view)
    st.empty()  # and of the worlds
    render_announcer(view.words, view.session_id, view.job)
    draw_palette(view)
    if not covered:
        follow_documents(view, adding, [model])
        look_out(view, drawn)


def draw_stories(view: View, model: DeltaGenerator, drawn: tuple[Any, ...], covered: bool) -> None:
    """Draws the list of story worlds. ``covered``: a window is open over it."""
    st.empty()  # keeps the place of the conversation
    st.empty()  # and of the documents
    draw_worlds(view)
    render_announcer(view.words, view.session_id, view.job)
    draw_palette(view)
    if not covered:
        follow_documents(view, None, [model])
        look_out(view, drawn)


def draw_window(view: View) -> bool:
    """Draws the open window over the page. Returns whether one is open: nothing is followed then
    (``component.page.window``)."""
    now = window.find_open_window()
    if now is not None:
        name, about = now
        window.draw_open_window(view, lambda view: WINDOWS[name](view, about))
    return window.find_open_window() is not None


def check_start() -> None:
    """Ends the process with a sentence when the server would be open to others without a login."""
    try:
        language = settings.load_current_settings().language
    except BadSetting:  # the page shows what is wrong; nobody but this machine reaches it
        return
    try:
        user.check_login()
        reach.check_page_reach(
            config.get_option("server.address"), settings.load_current_settings(), login=user.has_own_login()
        )
        user.trust_proxy()
    except GieokError as error:
        sentences = Words(resolve_language("auto", language)).error(error.code, error.text(), error.values)
        sys.exit(" ".join(sentences).strip())


if __name__ == "__main__":
    run_page()
else:  # imported by ``streamlit run``, which finds the server's application by this assignment
    check_start()
    keep_streamlit_order()
    limit_page_connections()
    app = st.App(__file__, middleware=build_page_middleware(user.has_own_login()))
