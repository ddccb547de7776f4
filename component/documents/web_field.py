"""The field for a web address on the documents page: adds one page, or the pages of its site below it too."""

from __future__ import annotations

from functools import partial

import streamlit as st

from component.documents.adding import add_page
from component.page.view import View
from component.widget.failure import draw_error
from errors import GieokError, PageError
from retrieval import DocType, Library

ADDRESS, SCOPE, FAULT = "web-address", "web-scope", "web-fault"
SCOPES = ("one", "below")


def draw_web_field(view: View, library: Library, doc_type: DocType | None) -> None:
    """Draws the field. «Add» starts fetching the page at once and empties the field. ``doc_type`` None: automatic."""
    words = view.words
    with st.container(key="web-field", horizontal=True, vertical_alignment="bottom", gap="small"):
        st.text_input(words("documents.web"), key=ADDRESS, placeholder="https://", icon=":material/link:")
        st.segmented_control(
            words("documents.web.scope"),
            SCOPES,
            default="one",
            format_func=lambda name: words(f"documents.web.{name}"),
            key=SCOPE,
            required=True,
            label_visibility="collapsed",
        )
        add = partial(_add_web_page, library, doc_type)
        st.button(words("documents.web.add"), key="web-add", icon=":material/add:", on_click=add)
    fault = st.session_state.get(FAULT)
    if isinstance(fault, GieokError):
        draw_error(words, fault)
    else:
        st.empty()


def _add_web_page(library: Library, doc_type: DocType | None) -> None:
    """Adds the page at the entered address. A bad address stays in the field, and the reason is shown below."""
    address = str(st.session_state.get(ADDRESS) or "").strip()
    st.session_state[FAULT] = None
    if not address:
        return
    try:
        add_page(library, address, doc_type, below=st.session_state.get(SCOPE) == "below")
        st.session_state[ADDRESS] = ""
    except PageError as error:
        st.session_state[FAULT] = error
