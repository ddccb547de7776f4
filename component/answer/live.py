"""A running answer: its steps, then its text. Finished pieces are sent once; only the last piece is sent again."""

from __future__ import annotations

import time

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from component.answer.block import SPACE, CutPoint, next_cut
from component.answer.pace import Pace
from component.answer.step import draw_step
from component.page.catalogue import Words
from component.page.frame import MARK
from component.widget.markdown import fixed
from component.work.job import Job, JobProgress, Step
from component.work.readiness import Status


class Live:
    """The place of a running answer. Create it where the answer belongs, then call ``update`` while the job runs."""

    def __init__(self, words: Words, job: Job) -> None:
        self._words = words
        self.job = job
        self._pace = Pace()
        self._cut = 0
        self._drawn = ""
        self._cuts = _cuts(job)
        self._ahead = list(self._cuts)
        self._run: DeltaGenerator | None = None
        self._runs = 0
        self._said = ""
        with st.container(key="live"), st.chat_message("assistant", avatar=MARK):
            self._step_box = st.container(key="live-steps", gap=None)
            self._body = st.container(key="live-answer")
            self._note = st.empty()
        self._tail = self._body
        self._steps: list[DeltaGenerator] = []
        self._known: list[Step | None] = []

    def update(self, progress: JobProgress, status: Status) -> None:
        """Draws the steps, the text and the waiting note as far as they changed since the last call."""
        self._draw_steps(progress)
        self._draw_text(progress)
        self._draw_note(progress, status)

    def _draw_steps(self, progress: JobProgress) -> None:
        for index, step in enumerate(progress.steps):
            if index >= len(self._steps):
                self._steps.append(self._step_box.empty())
                self._known.append(None)
            if self._known[index] != step:
                self._known[index] = step
                with self._steps[index].container():
                    draw_step(self._words, step)

    def _draw_text(self, progress: JobProgress) -> None:
        text = progress.text
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
        markdown = fixed(piece.strip("\n") if self._run is None else piece.strip())
        goes_on = self._run is not None and piece[:1] == " "
        self._tail = self._tail.markdown(SPACE + markdown if goes_on else markdown)
        self._drawn = piece
        self._pace.count(markdown)

    def _draw_note(self, progress: JobProgress, status: Status) -> None:
        note = self._waiting_for(progress, status)
        if note != self._said:
            self._said = note
            if note:
                self._note.markdown(f":shimmer[{note}]")
            else:
                self._note.empty()

    def _waiting_for(self, progress: JobProgress, status: Status) -> str:
        if self.job.stop.is_set():
            return self._words("live.stopping")
        if progress.waiting and status.state != "ready":
            return self._words("live.model")
        if progress.text or any(step.result is None for step in progress.steps):
            return ""
        waited = int(time.monotonic() - self.job.started)
        return self._words("live.thinking") if waited < 3 else self._words("live.thinking_for", seconds=waited)


def _cuts(job: Job) -> list[CutPoint]:
    """Returns the cuts that this page has made in the job's answer so far, as a list to append to.

    A new page run must draw the same pieces in the same places. The browser keeps the old elements until the run ends,
    so pieces with other cuts would stand beside the old ones.
    """
    stored: tuple[Job | None, list[CutPoint]] = st.session_state.get("cuts", (None, []))
    if stored[0] is not job:
        stored = st.session_state["cuts"] = (job, [])
    return stored[1]
