"""The text of a running answer. Finished pieces are sent once; only the last piece is sent again."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from component.answer.block import SPACE, CutPoint, next_cut
from component.answer.pace import Pace
from component.widget.markdown import fix_markdown


class GrowingText:
    """A text that grows inside ``body``. ``work``: what writes it, the same object in every run of the page."""

    def __init__(self, body: DeltaGenerator, work: object) -> None:
        self._body = body
        self._tail = body
        self._pace = Pace()
        self._cut = 0
        self._drawn = ""
        self._cuts = _load_cut_points(work)
        self._ahead = list(self._cuts)
        self._run: DeltaGenerator | None = None
        self._runs = 0

    def update(self, text: str) -> None:
        """Draws the text as far as it has grown since the last call."""
        while cut := self._next_cut(text):
            if cut.joined and self._run is None:
                self._begin_run()
            self._put(text[self._cut : cut.end])
            self._run = self._run if cut.joined else None
            self._tail, self._cut, self._drawn = self._run or self._body, cut.end, ""
        tail = text[self._cut :]
        size = len(text.encode("utf-8", "replace"))
        if tail.strip() and tail != self._drawn and self._pace.allows(tail, len(self._drawn), size):
            self._put(tail)

    def _next_cut(self, text: str) -> CutPoint | None:
        """Returns the next cut of an earlier page run, else a new cut, which it adds to the list."""
        if self._ahead:
            return self._ahead.pop(0)
        cut = next_cut(text, self._cut, self._run is not None)
        if cut:
            self._cuts.append(cut)
        return cut

    def _begin_run(self) -> None:
        """Opens a container for the pieces of one paragraph; style.css joins the pieces again."""
        self._runs += 1
        self._run = self._tail.container(key=f"live-run-{self._runs}")
        self._tail, self._drawn = self._run, ""

    def _put(self, piece: str) -> None:
        """Draws ``piece`` at the current place, after all finished pieces, unless it already stands there.

        A piece that continues a paragraph begins with the space at which the paragraph was cut.
        """
        if piece.rstrip() == self._drawn.rstrip():
            return
        markdown = fix_markdown(piece.strip("\n") if self._run is None else piece.strip())
        goes_on = self._run is not None and piece[:1] == " "
        self._tail = self._tail.markdown(SPACE + markdown if goes_on else markdown)
        self._drawn = piece
        self._pace.count(markdown)


def forget_cuts() -> None:
    """Forgets the cuts of a text that begins anew."""
    st.session_state.pop("cuts", None)


def _load_cut_points(work: object) -> list[CutPoint]:
    """Returns the cuts that this page has made in the answer so far, as a list to append to.

    A new page run must draw the same pieces in the same places. The browser keeps the old elements until the run ends,
    so pieces with other cuts would stand beside the old ones.
    """
    stored: tuple[object, list[CutPoint]] = st.session_state.get("cuts", (None, []))
    if stored[0] is not work:
        stored = st.session_state["cuts"] = (work, [])
    return stored[1]
