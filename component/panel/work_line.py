"""One line at the foot of the panel: what is being done for this conversation, or for all of the user's, beside its
answers, and what waits; and the window that lists it piece by piece."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from html import escape

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from component.page import window
from component.page.catalogue import Words
from component.page.view import View
from component.widget.markdown import escape_markdown, shorten_text
from component.widget.wait import redraw_when
from component.work import resource
from errors import GieokError
from graph.summary import rewrite
from graph.turn.process.side_work import SideWork

NAME = "work"
BEAT, PIECES_BEAT = 2.0, 1.0
TITLE_CHARS = 30


@dataclass(frozen=True, slots=True)
class WorkLine:
    """The drawn line. Its place stays when nothing is to be done, so that nothing below it moves."""

    view: View
    place: DeltaGenerator

    def show(self) -> None:
        """Draws the line as it is now."""
        said = escape(describe_work(self.view.words, list_own(self.view), _count_left(self.view)), quote=True)
        self.place.html(f'<div class="gieok-work" title="{said}">{said}</div>')


def draw_work_line(view: View, prefix: str = "") -> WorkLine:
    """Draws the line where it is called, while there is work with the button that opens the window."""
    with st.container(key=f"{prefix}work", horizontal=True, wrap=False, vertical_alignment="center", gap="xsmall"):
        line = WorkLine(view, st.container(width="stretch").empty())
        line.show()
        if list_own(view):
            label = view.words("work.open")
            st.button(label, key=f"{prefix}work-open", type="tertiary", on_click=window.open_page_window, args=(NAME,))
        else:
            st.empty()  # takes the button's place: else it stays until a run that follows an answer has ended
    return line


def draw_work_window(view: View, about: object = None) -> None:
    """Draws the window of the work, piece by piece, as it is at every moment."""
    window.render_page_window(view.words("work.title"), lambda: _draw_work_pieces(view))


def _draw_work_pieces(view: View) -> None:
    place = st.empty()

    def look() -> bool:
        with place.container(gap="xsmall"):
            pieces = [piece for piece in list_own(view) if _name_work(view.words, piece, 0)]
            for piece in pieces:
                st.markdown(escape_markdown(describe_piece(view, piece)))
            if not pieces:
                st.caption(view.words("work.none"))
        return False

    redraw_when(look, PIECES_BEAT)


def describe_piece(view: View, piece: SideWork) -> str:
    """Returns what a piece of work is, for which conversation, and how long it has run or waited."""
    words, seconds = view.words, max(0, round(time.time() - piece.since))
    state = words("work.piece.running" if piece.is_running else "work.piece.waiting", seconds=seconds)
    left = _count_left(view) if piece.name == rewrite.NAME else 0
    parts = [_name_work(words, piece, left), state]
    with suppress(GieokError):  # deleted meanwhile
        parts[1:1] = [shorten_text(view.store.session(piece.session).title, TITLE_CHARS)] if piece.session else []
    return " · ".join(parts)


def watch_work(view: View, line: WorkLine, drawn: frozenset[str]) -> None:
    """Keeps the line current while the page is idle, and draws the page anew when a kind of work begins or ends.

    ``drawn``: the kinds of work before the page was drawn. What has ended since may have changed what was drawn first.
    """

    def look() -> bool:
        line.show()
        return find_work_kinds(view) != drawn

    redraw_when(look, BEAT if drawn or find_work_kinds(view) else None)


def list_own(view: View) -> list[SideWork]:
    """Returns the side work of the conversation on this page, and what serves all conversations of its user."""
    agent, session = resource.find_page_agent(), view.session_id or ""
    return [work for work in agent.background.list_work() if work.is_for(session, agent.user)]


def describe_work(words: Words, work: Sequence[SideWork], left: int = 0) -> str:
    """Returns the text of the line; '' when there is no work. ``left``: summaries that the model is still to write."""
    now = time.time()
    running = [
        words("work.one", name=name, seconds=max(0, round(now - each.since)))
        for each in work
        if each.is_running and (name := _name_work(words, each, left))
    ]
    counts = Counter(name for each in work if not each.is_running and (name := _name_work(words, each, left)))
    waiting = [words("work.left", name=name, count=count) if count > 1 else name for name, count in counts.items()]
    parts = [words("work.running", names=", ".join(running))] if running else []
    return " · ".join([*parts, words("work.waiting", names=", ".join(waiting))] if waiting else parts)


def _name_work(words: Words, work: SideWork, left: int) -> str:
    key = f"work.name.{work.name.replace(' ', '_')}"
    if key not in words:
        return ""
    return words("work.left", name=words(key), count=left) if work.name == rewrite.NAME and left else words(key)


def find_work_kinds(view: View) -> frozenset[str]:
    """Returns the names of the side work that is listed on this page."""
    return frozenset(work.name for work in list_own(view))


def _count_left(view: View) -> int:
    """Returns how many summaries the model is still to write, while it writes them."""
    if view.session_id is None or view.session is None or view.session.rewriting != "now":
        return 0
    try:
        return view.store.ledger.count_extracted(view.session_id)
    except GieokError:  # erased in another tab
        return 0
