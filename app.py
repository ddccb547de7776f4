"""The page: what is drawn where, in which order. Start it with ``streamlit run app.py``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from component import resource, window
from component.announce import announce
from component.chat import draw_chat
from component.comparison import draw_comparison
from component.composer import draw_attached, draw_composer
from component.documents import draw_documents
from component.failure import draw_error, retry_button, toast
from component.follow import follow, follow_documents, watch
from component.header import draw_header
from component.help import draw_help
from component.markdown import plain
from component.menu import open_asked
from component.news import glance, look_out
from component.options import draw_options
from component.page import open_page
from component.panel import draw_drawer, draw_panel
from component.revision import draw_revision
from component.session import draw_details, draw_import
from component.sidebar import draw_sidebar
from component.source import draw_source
from component.tour import draw_tour
from component.trash import draw_trash
from component.version import draw_versions
from component.view import View, current, on_documents, told, words
from door.policy import MIDDLEWARE
from errors import GieokError

WINDOWS: dict[str, Callable[[View, Any], None]] = {
    "comparison": draw_comparison,
    "details": draw_details,
    "drawer": draw_drawer,
    "help": draw_help,
    "import": draw_import,
    "options": draw_options,
    "revision": draw_revision,
    "source": draw_source,
    "trash": draw_trash,
    "versions": draw_versions,
}


def main() -> None:
    """One run of the page."""
    try:
        said = words()
    except GieokError as error:  # a setting that cannot be read: nobody knows which language is wanted
        st.error(plain(str(error)))
        return
    open_page(said)
    try:
        draw(current(said))
    except GieokError as error:  # the store does not open, or failed just now
        draw_error(said, error)
        retry_button(said("chat.retry"), "open-again", resource.agent.clear)


def draw(view: View) -> None:
    """Draws everything, then stays with what is under way, then looks out for what others do."""
    drawn = glance(view)
    open_asked()
    model = draw_sidebar(view)
    draw_header(view)
    if on_documents():
        draw_library(view, model, drawn)
        return
    left, right = st.columns([7, 3], gap="medium", wrap=False)
    with left:
        turns, live, places = draw_chat(view)
        adding = draw_attached(view)
        draw_composer(view)
    with right.container(height=160, key="panel", border=False):
        panel = draw_panel(view, turns)
    st.empty()  # in the place of the documents
    ended = announce(view.words, view.session_id, view.job, turns[-1] if turns else None)
    draw_tour(view.words, ended)
    if draw_window(view):
        watch(view, live)
    else:
        follow(view, live, panel, [model, *places], turns, adding)
        look_out(view, drawn)


def draw_library(view: View, model: DeltaGenerator, drawn: tuple[Any, ...]) -> None:
    """The page of the documents."""
    error = told()
    if error:
        toast(view.words, error)
    st.empty()  # in the place of the conversation
    adding = draw_documents(view)
    announce(view.words, view.session_id, view.job, None)
    if not draw_window(view):
        follow_documents(view, adding, [model])
        look_out(view, drawn)


def draw_window(view: View) -> bool:
    """The window over the page; True while one is open: nothing is followed then (``component.window``)."""
    now = window.opened()
    if now is not None:
        name, about = now
        WINDOWS[name](view, about)
    return window.opened() is not None


if __name__ == "__main__":
    main()
else:  # imported by ``streamlit run``, which finds the server's application by this assignment
    app = st.App(__file__, middleware=MIDDLEWARE)
