"""The choice where a conversation's questions are looked up: its own files, the user's documents, Gieok's own guide."""

from __future__ import annotations

from functools import partial

import streamlit as st

from component.page.view import COLLECTIONS_NEW, View, run_page_action, show_documents
from component.work import resource
from retrieval.document import COLLECTIONS


def draw_reach(view: View) -> None:
    """Draws a button beside the input; the button opens the choice of collections."""
    words = view.words
    if resource.find_user_agent().library is None:
        return
    chosen, label = view.collections, words("reach.title")
    icon = "manage_search" if len(chosen) == len(COLLECTIONS) else "filter_alt"
    with st.popover(label, icon=f":material/{icon}:", key="reach", help=label):  # the label is for screen readers
        st.markdown(f"**{label}**")
        for name in COLLECTIONS:
            key = f"reach-{name}-{view.session_id}"
            change = partial(run_page_action, partial(_set_searched_collection, view, name, name not in chosen))
            about = words(f"reach.{name}.about")
            st.checkbox(words(f"reach.{name}"), name in chosen, key=key, help=about, on_change=change)
        st.caption(words("reach.about"))
        st.button(
            words("documents.title"),
            key="reach-documents",
            icon=":material/folder_open:",
            type="tertiary",
            on_click=show_documents,
        )


def _set_searched_collection(view: View, name: str, on: bool) -> None:
    selected = [
        collection for collection in COLLECTIONS if (on if collection == name else collection in view.collections)
    ]
    chosen = None if len(selected) == len(COLLECTIONS) else selected
    if view.session_id:
        view.store.set_collections(view.session_id, chosen)
    else:
        st.session_state[COLLECTIONS_NEW] = chosen
