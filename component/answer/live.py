"""A running answer of a conversation: its steps, then its text, and what it waits for."""

from __future__ import annotations

import time

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from component.answer.growing import GrowingText
from component.answer.step import draw_step
from component.page.catalogue import Words
from component.page.frame import MARK
from component.work.job import Job, JobProgress, Step
from component.work.readiness import Status


class Live:
    """The place of a running answer. Create it where the answer belongs, then call ``update`` while the job runs."""

    def __init__(self, words: Words, job: Job) -> None:
        self._words = words
        self.job = job
        self._said = ""
        with st.container(key="live"), st.chat_message("assistant", avatar=MARK):
            self._step_box = st.container(key="live-steps", gap=None)
            self._text = GrowingText(st.container(key="live-answer"), job)
            self._note = st.empty()
        self._steps: list[DeltaGenerator] = []
        self._known: list[Step | None] = []

    def update(self, progress: JobProgress, status: Status) -> None:
        """Draws the steps, the text and the waiting note as far as they changed since the last call."""
        self._draw_steps(progress)
        self._text.update(progress.text)
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
