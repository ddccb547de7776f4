"""The notice about hidden turns: a new answer to an early turn hides the turns that follow its old version."""

from __future__ import annotations

from functools import partial

import streamlit as st

from component.page.view import View, run_page_action, to_newest
from component.widget.markdown import escape_markdown
from component.work import resource
from store.tree import Continued


def draw_continued(view: View) -> None:
    """Draws how many turns follow the old version of the last shown turn, and the button that switches back to it."""
    hidden = _find_hidden_turns(view)
    if hidden is None:
        st.empty()
        return
    words = view.words
    with st.container(key="continued", horizontal=True, vertical_alignment="center", gap="small"):
        text = escape_markdown(words("turn.continued", count=hidden.later))
        st.caption(f":material/alt_route: {text}", width="content")
        back = partial(_switch_to_hidden_turns, view.session_id or "", hidden)
        icon = ":material/undo:"
        label = words("turn.continued.back")
        st.button(label, key="continued-back", icon=icon, on_click=back, disabled=view.job is not None)


def _find_hidden_turns(view: View) -> Continued | None:
    session, job = view.session, view.job
    if session is None or not session.turn_count or (job and job.request.kind == "new"):
        return None
    return view.store.tree.find_continuation(session.id, job.turn if job else session.turn_count)


def _switch_to_hidden_turns(session: str, found: Continued) -> None:
    run_page_action(partial(resource.find_page_agent().switch, session, found.number, found.branch))
    to_newest(session)
