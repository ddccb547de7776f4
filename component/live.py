"""An answer while it grows: its steps, then its text, finished paragraphs sent once and only the last one again."""

from __future__ import annotations

import time

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from component.catalogue import Words
from component.job import Job, Progress, Step
from component.markdown import boundary, fixed
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
        self._said = ""
        with st.container(key="live"), st.chat_message("assistant", avatar=MARK):
            self._step_box = st.container(key="live-steps", gap=None)
            self._body = st.container(key="live-answer")
            self._note = st.empty()
        self._tail = self._body.empty()
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
        until = boundary(text, self._cut)
        if until > self._cut:
            self._tail.markdown(fixed(text[self._cut : until]))
            self._pace.sent += until - self._cut
            self._tail, self._cut, self._drawn = self._body.empty(), until, ""
        tail = text[self._cut :]
        if tail.strip() and tail != self._drawn and self._pace.allows(tail, len(text.encode("utf-8", "replace"))):
            self._tail.markdown(fixed(tail))
            self._drawn = tail

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
