"""«Rewrite with the model» in the memory tab: for a profile that keeps memory by code (design §6)."""

from __future__ import annotations

from functools import partial

import streamlit as st

from component import resource
from component.errand import Errand
from component.failure import draw_error
from component.revision import wait
from component.view import View
from memory import FoldReport


def draw_rewrite(view: View, prefix: str = "") -> None:
    """The button, and how its call goes; nothing where the model writes the memory anyway."""
    session, words = view.session_id, view.words
    if session is None or not view.status.extracts:
        return
    key = ("rewrite-memory", session)
    errand = resource.errands().of(key)
    if errand is None:
        start = partial(_start, view, session)
        icon, idle = ":material/edit_note:", view.status.state == "ready"
        st.button(
            words("memory.rewrite"), key=f"{prefix}memory-rewrite", icon=icon, on_click=start, disabled=not idle,
            help=words("memory.rewrite.about"),
        )  # fmt: skip
    elif not errand.done:
        st.markdown(f":shimmer[{words('memory.rewriting')}]")
        stop = partial(resource.errands().dismiss, key)
        st.button(words("chat.stop"), key=f"{prefix}memory-rewrite-stop", icon=":material/stop_circle:", on_click=stop)
        wait(errand)
    else:
        _draw_end(view, errand)
        resource.errands().dismiss(key)


def _start(view: View, session: str) -> None:
    agent = view.agent

    def work(errand: Errand) -> FoldReport:
        return agent.rewrite_memory(session, stop=errand.stop)

    resource.errands().start(("rewrite-memory", session), work)


def _draw_end(view: View, errand: Errand) -> None:
    words, report = view.words, errand.result
    if errand.error is not None:
        draw_error(words, errand.error)
    elif isinstance(report, FoldReport) and report.status == "folded":
        st.caption(f":material/check: {words('memory.rewritten')}")
    elif isinstance(report, FoldReport):
        st.caption(report.reason or words("memory.rewrite.nothing"))
