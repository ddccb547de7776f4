"""The button «Rewrite with the model» of the memory tab, for a profile whose memory is written by code (design 6.2)."""

from __future__ import annotations

from functools import partial

import streamlit as st

from component.page.view import View
from component.widget.failure import draw_error
from component.widget.wait import redraw_when_done
from component.work import resource
from component.work.side_call import SideCall
from memory import FoldReport


def draw_rewrite(view: View, prefix: str = "") -> None:
    """Draws the button, or the state of its call; draws nothing for a profile whose model writes the memory anyway."""
    session, words = view.session_id, view.words
    if session is None or not view.status.extracts:
        return
    key = ("rewrite-memory", session)
    side_call = resource.side_calls().of(key)
    if side_call is None:
        start = partial(_start_memory_rewrite, view, session)
        icon, idle = ":material/edit_note:", view.status.state == "ready"
        st.button(
            words("memory.rewrite"), key=f"{prefix}memory-rewrite", icon=icon, on_click=start, disabled=not idle,
            help=words("memory.rewrite.about"),
        )  # fmt: skip
    elif not side_call.done:
        st.markdown(f":shimmer[{words('memory.rewriting')}]")
        stop = partial(resource.side_calls().dismiss, key)
        st.button(words("chat.stop"), key=f"{prefix}memory-rewrite-stop", icon=":material/stop_circle:", on_click=stop)
        redraw_when_done(side_call)
    else:
        _render_rewrite_end(view, side_call)
        resource.side_calls().dismiss(key)


def _start_memory_rewrite(view: View, session: str) -> None:
    agent = view.agent

    def work(side_call: SideCall) -> FoldReport:
        return agent.rewrite_memory(session, stop=side_call.stop)

    resource.side_calls().start(("rewrite-memory", session), work)


def _render_rewrite_end(view: View, side_call: SideCall) -> None:
    words, report = view.words, side_call.result
    if side_call.error is not None:
        draw_error(words, side_call.error)
    elif isinstance(report, FoldReport) and report.status == "folded":
        st.caption(f":material/check: {words('memory.rewritten')}")
    elif isinstance(report, FoldReport):
        st.caption(words(f"memory.rewrite.{report.status}"))
