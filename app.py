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
from component.chat.composer import draw_attached, draw_composer
from component.chat.file import draw_file
from component.documents.documents_page import draw_documents
from component.memory.known import draw_known
from component.memory.proposal import draw_proposal
from component.memory.version import draw_versions
from component.page import window
from component.page.announce import announce
from component.page.catalogue import Words
from component.page.follow import follow, follow_documents, watch
from component.page.frame import open_page
from component.page.header import draw_header
from component.page.help import draw_help
from component.page.login import draw_login
from component.page.news import glance, look_out
from component.page.palette import draw_palette
from component.page.point import draw_point
from component.page.theme import apply_theme
from component.page.view import View, current, on_documents, told, words
from component.panel.comparison import draw_comparison
from component.panel.panel import draw_drawer, draw_panel
from component.panel.revision import draw_revision
from component.panel.summarise import draw_summarise
from component.panel.work_line import draw_work_window, watch_work
from component.settings.model_switch import draw_switch
from component.settings.options import draw_options
from component.settings.own_setting import refresh_own
from component.sidebar.bring_in import draw_import
from component.sidebar.delete import draw_delete
from component.sidebar.export import draw_export
from component.sidebar.sidebar import draw_sidebar
from component.sidebar.trash import draw_trash
from component.usage.usage_window import draw_usage
from component.widget.failure import draw_error, retry_button, toast
from component.widget.markdown import plain
from component.work import resource, user
from component.world.book_window import draw_export as draw_book_export
from component.world.book_window import draw_import as draw_book_import
from component.world.follow import follow_world, watch_world
from component.world.view import WORLD_DRAWER, on_worlds
from component.world.window import draw_change, draw_create
from component.world.window import draw_delete as draw_delete_world
from component.world.world_page import draw_drawer as draw_world_drawer
from component.world.world_page import draw_worlds
from door import reach
from door.phrase import chosen
from door.policy import middleware
from errors import BadSetting, GieokError, StoreEmptied

WINDOWS: dict[str, Callable[[View, Any], None]] = {
    "comparison": draw_comparison,
    "delete": draw_delete,
    "drawer": draw_drawer,
    "export": draw_export,
    "file": draw_file,
    "help": draw_help,
    "import": draw_import,
    "known": draw_known,
    "model": draw_switch,
    "options": draw_options,
    "past": draw_past_window,
    "proposal": draw_proposal,
    "revision": draw_revision,
    "source": draw_source,
    "summarise": draw_summarise,
    "trash": draw_trash,
    "usage": draw_usage,
    "versions": draw_versions,
    "work": draw_work_window,
    "world-change": draw_change,
    "world-delete": draw_delete_world,
    WORLD_DRAWER: draw_world_drawer,
    "world-export": draw_book_export,
    "world-import": draw_book_import,
    "world-new": draw_create,
}


def main() -> None:
    """Draws the page; Streamlit calls this with every run of the script."""
    try:
        catalogue = words()
    except GieokError as error:  # a setting cannot be read, so the language is unknown
        st.error(plain(str(error)))
        return
    open_page(catalogue)
    try:
        if user.current() is None:
            draw_login(catalogue)
        else:
            refresh_own()
            draw(current(words()))  # the user may have a language of their own
    except GieokError as error:  # the store does not open, or failed just now
        draw_error(catalogue, error)
        retry_button(catalogue("chat.retry"), "open-again", resource.reopen)
        if isinstance(error, StoreEmptied):
            retry_button(catalogue("store.begin_anew"), "begin-anew", resource.begin_anew, promising=False)


def draw(view: View) -> None:
    """Draws the whole page, then follows the running work, then looks out for changes by others."""
    drawn = glance(view)
    open_asked()
    model = draw_sidebar(view)
    draw_header(view)
    if on_documents():
        draw_library(view, model, drawn)
        return
    if on_worlds():
        draw_stories(view, model, drawn)
        return
    left, right = st.columns([7, 3], gap="medium", wrap=False)
    with left:
        turns, live, places = draw_chat(view)
        adding = draw_attached(view)
        draw_composer(view)
    with right.container(height=160, key="panel", border=False):
        panel = draw_panel(view, turns)
    st.empty()  # keeps the place of the documents
    st.empty()  # and of the worlds
    announce(view.words, view.session_id, view.job)
    draw_palette(view)
    apply_theme()
    draw_point()
    if draw_window(view):
        watch(view, live)
    else:
        follow(view, live, panel, [model, *places], turns, adding)
        watch_work(view, panel.work)
        look_out(view, drawn)


def draw_library(view: View, model: DeltaGenerator, drawn: tuple[Any, ...]) -> None:
    """Draws the page of the documents."""
    error = told()
    if error:
        toast(view.words, error)
    st.empty()  # keeps the place of the conversation
    adding = draw_documents(view)
    st.empty()  # and of the worlds
    announce(view.words, view.session_id, view.job)
    draw_palette(view)
    if not draw_window(view):
        follow_documents(view, adding, [model])
        look_out(view, drawn)


def draw_stories(view: View, model: DeltaGenerator, drawn: tuple[Any, ...]) -> None:
    """Draws the page of story worlds, then follows the turn that is being played."""
    st.empty()  # keeps the place of the conversation
    st.empty()  # and of the documents
    worlds = draw_worlds(view)
    announce(view.words, view.session_id, view.job, "world.panel")
    draw_palette(view)
    if draw_window(view):
        watch_world(view, worlds)
    else:
        follow_world(view, worlds, [model])
        look_out(view, drawn)


def draw_window(view: View) -> bool:
    """Draws the open window over the page. Returns whether one is open: nothing is followed then
    (``component.page.window``)."""
    now = window.opened()
    if now is not None:
        name, about = now
        WINDOWS[name](view, about)
    return window.opened() is not None


def check_start() -> None:
    """Ends the process with a sentence when the server would be open to others without a login."""
    try:
        language = settings.current().language
    except BadSetting:  # the page shows what is wrong; nobody but this machine reaches it
        return
    try:
        user.check_login()
        reach.check(config.get_option("server.address"), settings.current(), login=user.has_own_login())
        user.trust_proxy()
    except GieokError as error:
        sentences = Words(chosen("auto", language)).error(error.code, error.text(), error.values)
        sys.exit(" ".join(sentences).strip())


if __name__ == "__main__":
    main()
else:  # imported by ``streamlit run``, which finds the server's application by this assignment
    check_start()
    app = st.App(__file__, middleware=middleware(user.has_own_login()))
