"""The menu entries under an answer that no document supports (specification 8.6), and the windows they open.

An address that begins with ``?`` is a place in this page; any other address is a link.
"""

from __future__ import annotations

from functools import partial
from urllib.parse import parse_qsl, urlsplit

import streamlit as st

from component.page.help import ask_help
from component.page.view import PAGE, View, show_session
from component.settings.options import ask_options
from component.widget.markdown import escape_markdown, shorten_text
from graph.answer.documents import offered_links
from store import TurnRow

WINDOWS = {"settings": ask_options, "help": ask_help}
LABEL_CHARS = 60
_SCHEMES = ("http", "https", "mailto", "tel")


def render_offered_links(view: View, turn: TurnRow) -> None:
    """Draws the menu entries that the searches of a turn offer when no search found a passage."""
    links = offered_links(turn.steps) if turn.answer else []
    if not links:
        return
    with st.container(key=f"sources-menu-{turn.number}", horizontal=True, vertical_alignment="center", gap="xsmall"):
        st.caption(view.words("menu.offered"), width="content")
        for index, link in enumerate(links):
            _render_offered_link(
                f"menu-{turn.number}-{index}",
                escape_markdown(shorten_text(str(link["title"]), LABEL_CHARS)),
                str(link["url"]),
            )


def open_asked() -> None:
    """Opens the window that the page address names (``?view=help``), and removes the name from the address."""
    window = WINDOWS.get(st.query_params.get(PAGE, ""))
    if window is not None:
        st.query_params.pop(PAGE)
        window()


def _render_offered_link(key: str, label: str, url: str) -> None:
    if url.startswith("?"):
        st.button(label, key=key, type="tertiary", on_click=partial(_open_page_link, url))
    elif urlsplit(url).scheme in _SCHEMES:
        st.link_button(label, url, type="tertiary", key=key)
    else:
        st.caption(f"{label} · {escape_markdown(url)}", width="content")


def _open_page_link(url: str) -> None:
    """Goes to a place in this page; ``?`` alone opens a new chat."""
    parameters = dict(parse_qsl(url[1:]))
    if parameters:
        st.query_params.update(parameters)
    else:
        show_session(None)
