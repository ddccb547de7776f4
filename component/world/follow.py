"""Follows the story that is being played until its answer has ended and is worked off (``component.page.follow``)."""

from __future__ import annotations

import time

import streamlit as st

from component.page.follow import BEAT, WINDOW_BEAT, Places, follow_documents, show_model, yield_to_clicks
from component.page.view import View
from component.widget.wait import redraw_when
from component.world.live import LiveTurn
from component.world.world_page import Drawn
from store.world.record import Node
from world.engine import Engine

WORKED_OFF_SECONDS = 60.0


def follow_world(view: View, drawn: Drawn, model: Places) -> None:
    """Follows the growing answer, else the model being made ready, else the work behind the last answer; then runs the
    page anew. Returns when there is nothing to follow."""
    if drawn.live is not None:
        _follow_answer(view, drawn.live, model)
    elif not view.status.settled:
        follow_documents(view, None, model)
        return
    elif drawn.shown is None or drawn.shown.node is None or not _follow_work(drawn.shown.engine, drawn.shown.node):
        return
    st.rerun()


def watch_world(view: View, drawn: Drawn) -> None:
    """Runs the page anew when the answer has ended; used instead of ``follow_world`` while a window is open."""
    live = drawn.live
    if live is None:
        return
    live.update(view.status)
    redraw_when(lambda: live.call.done, WINDOW_BEAT)


def _follow_answer(view: View, live: LiveTurn, model: Places) -> None:
    status = view.status
    while not live.call.done:
        status = show_model(view, model, status)
        live.update(status)
        yield_to_clicks()
        time.sleep(BEAT)


def _follow_work(engine: Engine, node: Node) -> bool:
    """Waits until a turn is worked off; returns whether that happened now."""
    until = time.monotonic() + WORKED_OFF_SECONDS
    if node.status != "raw":
        return False
    while time.monotonic() < until:
        if engine.store.worlds.node(node.id).status != "raw":
            return True
        yield_to_clicks()
        time.sleep(3 * BEAT)
    return False
