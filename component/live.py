"""An answer while it grows: its steps, then its text, finished pieces sent once and only the last one again."""

from __future__ import annotations

import time

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from component.block import SPACE, Cut, next_cut
from component.catalogue import Words
from component.job import Job, Progress, Step
from component.markdown import fixed
from component.pace import Pace
from component.page import MARK
from component.readiness import Status
from component.step import draw_step


class Live:
    """The place of a running answer. Draw it where the answer belongs, then ``update`` it while the job runs."""

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

    def update(self, progress: Progress, status: Status) -> None:
        """Draws what is new."""
        self._draw_steps(progress)
        self._draw_text(progress)
        self._draw_note(progress, status)

    def _draw_steps(self, progress: Progress) -> None:
        for index, step in enumerate(progress.steps):
            if index >= len(self._steps):
                self._steps.append(self._step_box.empty())
                self._known.append(None)
            if self._known[index] != step:
                self._known[index] = step
                with self._steps[index].container():
                    draw_step(self._words, step)

    def _draw_text(self, progress: Progress) -> None:
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

    def _next_cut(self, text: str) -> Cut | None:
        """The next of the known cuts, else a new one."""
        if self._ahead:
            return self._ahead.pop(0)
        found = next_cut(text, self._cut, self._run is not None)
        if found:
            self._cuts.append(found)
        return found

    def _begin_run(self) -> None:
        """From here on the paragraph is drawn in pieces, which style.css joins again."""
        self._runs += 1
        self._run = self._tail.container(key=f"live-run-{self._runs}")
        self._tail, self._drawn = self._run, ""

    def _put(self, piece: str) -> None:
        """Draws a piece in its place, a new one after all others, unless it stands there already.

        One that goes on with a paragraph begins with the space that it was cut at.
        """
        if piece.rstrip() == self._drawn.rstrip():
            return
        said = fixed(piece.strip("\n") if self._run is None else piece.strip())
        goes_on = self._run is not None and piece[:1] == " "
        self._tail = self._tail.markdown(SPACE + said if goes_on else said)
        self._drawn = piece
        self._pace.count(said)

    def _draw_note(self, progress: Progress, status: Status) -> None:
        note = self._waiting_for(progress, status)
        if note != self._said:
            self._said = note
            if note:
                self._note.markdown(f":shimmer[{note}]")
            else:
                self._note.empty()

    def _waiting_for(self, progress: Progress, status: Status) -> str:
        if self.job.stop.is_set():
            return self._words("live.stopping")
        if progress.waiting and status.state != "ready":
            return self._words("live.model")
        if progress.text or any(step.result is None for step in progress.steps):
            return ""
        waited = int(time.monotonic() - self.job.started)
        return self._words("live.thinking") if waited < 3 else self._words("live.thinking_for", seconds=waited)


def _cuts(job: Job) -> list[Cut]:
    """Where this page has cut the answer so far.

    A new run of the page puts the same pieces in the same places: the browser keeps what stood in them until the run
    has ended, so that others would stand beside them.
    """
    known: tuple[Job | None, list[Cut]] = st.session_state.get("cuts", (None, []))
    if known[0] is not job:
        known = st.session_state["cuts"] = (job, [])
    return known[1]
