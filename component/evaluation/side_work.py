"""The work that the tab starts beside the conversation: one piece at a time per conversation, kept until dismissed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import streamlit as st

from component.page.view import View
from component.widget.wait import redraw_when
from component.work import resource
from component.work.side_call import SideCall

Piece = Literal["judge", "calibration", "scenario", "curve"]

PIECES: tuple[Piece, ...] = ("judge", "calibration", "scenario", "curve")
BEAT = 0.4
"""Seconds between two looks at running work."""
_starting = threading.Lock()


def work_of(session: str, piece: Piece) -> SideCall | None:
    """Returns the work that runs, or has ended and was not dismissed. ``session``: empty for a new chat."""
    return resource.side_calls().of(_build_side_work_key(session, piece))


def is_busy(session: str) -> bool:
    """Returns whether a piece of work of this conversation runs."""
    return any(call is not None and not call.done for call in (work_of(session, piece) for piece in PIECES))


def start_side_work(session: str, piece: Piece, work: Callable[[SideCall], Any]) -> None:
    """Starts the work, unless another piece of this conversation runs."""
    with _starting:
        if not is_busy(session):
            resource.side_calls().start(_build_side_work_key(session, piece), work)


def stop_side_work(session: str, piece: Piece) -> None:
    """Stops the work; what it has done so far stays."""
    call = work_of(session, piece)
    if call is not None:
        call.stop.set()


def dismiss_side_work(session: str, piece: Piece) -> None:
    """Forgets the result; stops the work if it runs."""
    resource.side_calls().dismiss(_build_side_work_key(session, piece))


def draw_work(view: View, session: str, piece: Piece, draw: Callable[[SideCall], None], prefix: str) -> None:
    """Draws the work with ``draw``: again and again while it runs, with a button that stops it; then with a button that
    dismisses it. Draws nothing where there is no work."""
    call = work_of(session, piece)
    if call is None:
        return
    running = not call.done

    def look() -> bool:
        draw(call)
        return running and call.done

    redraw_when(look, BEAT if running else None)
    key = f"{prefix}evaluation-{piece}"
    if running:
        end, icon = partial(stop_side_work, session, piece), ":material/stop_circle:"
        st.button(view.words("chat.stop"), key=f"{key}-stop", icon=icon, on_click=end)
    else:
        clear, icon = partial(dismiss_side_work, session, piece), ":material/close:"
        st.button(view.words("evaluation.dismiss"), key=f"{key}-dismiss", icon=icon, type="tertiary", on_click=clear)


def _build_side_work_key(session: str, piece: Piece) -> tuple[str, str, Piece]:
    return "evaluation", session, piece
