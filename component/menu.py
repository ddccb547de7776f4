"""The menu entries under an answer that no document supports (copilot-rag.md §4.4), and the windows they open.

An address that begins with ``?`` is a place in this page; any other is a link.
"""

from __future__ import annotations

from functools import partial
from urllib.parse import parse_qsl, urlsplit

import streamlit as st

from component.help import ask_help
from component.markdown import plain, short
from component.options import ask_options
from component.view import PAGE, View, show
from graph.documents import offered_links
from store import Turn

WINDOWS = {"settings": ask_options, "help": ask_help}
LABEL_CHARS = 60
_SCHEMES = ("http", "https", "mailto", "tel")


def draw_menu(view: View, turn: Turn) -> None:
    """The entries that the searches of a turn offer, when none of them found anything."""
    links = offered_links(turn.steps) if turn.answer else []
    if not links:
        return
    with st.container(key=f"sources-menu-{turn.number}", horizontal=True, vertical_alignment="center", gap="xsmall"):
        st.caption(view.words("menu.offered"), width="content")
        for at, link in enumerate(links):
            _draw(f"menu-{turn.number}-{at}", plain(short(str(link["title"]), LABEL_CHARS)), str(link["url"]))


def open_asked() -> None:
    """Opens the window that the address names (``?view=help``), once."""
    window = WINDOWS.get(st.query_params.get(PAGE, ""))
    if window is not None:
        st.query_params.pop(PAGE)
        window()


def _draw(key: str, label: str, url: str) -> None:
    if url.startswith("?"):
        st.button(label, key=key, type="tertiary", on_click=partial(_go, url))
    elif urlsplit(url).scheme in _SCHEMES:
        st.link_button(label, url, type="tertiary", key=key)
    else:
        st.caption(f"{label} · {plain(url)}", width="content")


def _go(url: str) -> None:
    """To a place in this page; ``?`` alone is a new chat."""
    asked = dict(parse_qsl(url[1:]))
    if asked:
        st.query_params.update(asked)
    else:
        show(None)
