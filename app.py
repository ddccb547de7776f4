"""The page: what is drawn where, in which order. Start it with ``streamlit run app.py``."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from component import resource
from component.announce import announce
from component.chat import draw_chat
from component.composer import draw_attached, draw_composer
from component.documents import draw_documents
from component.failure import draw_error, retry_button
from component.follow import follow, follow_documents
from component.header import draw_header
from component.help import draw_help
from component.menu import open_asked
from component.options import draw_options
from component.page import open_page
from component.panel import draw_panel
from component.sidebar import draw_sidebar
from component.source import draw_source
from component.tour import draw_tour
from component.trash import draw_trash
from component.view import View, current, on_documents, words
from errors import GieokError


def main() -> None:
    """One run of the page."""
    said = words()
    open_page(said)
    try:
        draw(current(said))
    except GieokError as error:  # the store does not open, or failed just now
        draw_error(said, error)
        retry_button(said("chat.retry"), "open-again", resource.agent.clear)


def draw(view: View) -> None:
    """Draws everything, then stays with what is under way."""
    open_asked()
    model = draw_sidebar(view)
    draw_header(view)
    if on_documents():
        draw_library(view, model)
        return
    left, right = st.columns([7, 3], gap="medium")
    with left:
        turns, live, places = draw_chat(view)
        adding = draw_attached(view)
        draw_composer(view)
    with right.container(height=160, key="panel", border=False):
        panel = draw_panel(view, turns)
    draw_source(view)
    st.empty()  # in the place of the documents
    ended = announce(view.words, view.session_id, view.job is not None, turns[-1] if turns else None)
    draw_tour(view.words, ended)
    draw_help(view)
    if not (draw_options(view) or draw_trash(view)):
        follow(view, live, panel, [model, *places], turns, adding)


def draw_library(view: View, model: DeltaGenerator) -> None:
    """The page of the documents."""
    st.empty()  # in the place of the conversation
    adding = draw_documents(view)
    announce(view.words, view.session_id, view.job is not None, None)
    draw_help(view)
    if not (draw_options(view) or draw_trash(view)):
        follow_documents(view, adding, [model])


main()
