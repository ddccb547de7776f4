"""The search over all conversations: titles and everything that was said."""

from __future__ import annotations

import streamlit as st

from component import resource
from component.jump import leap
from component.markdown import plain, short
from component.view import View, show, tell
from errors import GieokError
from store.search import Hit

QUERY = "search"
MOST = 30


def draw_finder(view: View) -> bool:
    """The box, and below it what was found; True while something is looked for."""
    words = view.words
    label = words("search.label")
    query = st.text_input(
        label, key=QUERY, placeholder=label, label_visibility="collapsed", icon=":material/search:", max_chars=400
    )
    if not query or not query.strip():
        return False
    found = view.store.search(query, limit=MOST + 1)
    hits, more = found[:MOST], len(found) > MOST
    with st.container(key="sessions", gap=None):
        st.caption(words(f"search.found{'.more' * more}", count=len(hits)) if hits else words("search.none"))
        for index, hit in enumerate(hits):
            with st.container(key=f"hit-{index}", gap=None):
                title = plain(short(" ".join(hit.title.split()), 34)) or words("session.new")
                snippet = f"{plain(hit.before[-12:])}**{plain(hit.match)}**{plain(hit.after[:40])}"
                said = title if hit.number is None else f"{title}  \n:small[:gray[{snippet}]]"
                st.button(said, key=f"go-{index}", type="tertiary", width="stretch", on_click=_go, args=(view, hit))
    return True


def _go(view: View, hit: Hit) -> None:
    """Opens the conversation at the turn, on the branch where it is."""
    try:
        if hit.number is not None and hit.branch is not None:
            if not hit.current:
                resource.agent().switch(hit.session_id, hit.number, hit.branch)
            leap(hit.session_id, hit.number, view.store.session(hit.session_id).turn_count)
        show(hit.session_id)
    except GieokError as error:
        tell(error)
