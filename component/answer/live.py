"""A running answer of a conversation: its thoughts, its steps, then its text, and what it waits for."""

from __future__ import annotations

import time

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from component.answer.growing import GrowingText, forget_cuts
from component.answer.step import draw_step
from component.answer.thought import draw_growing_thought
from component.page.catalogue import Words
from component.page.frame import MARK
from component.work.job import AnswerStep, Job, JobProgress
from component.work.readiness import ModelStatus


class LiveAnswerView:
    """The place of a running answer. Create it where the answer belongs, then call ``update`` while the job runs."""

    def __init__(self, words: Words, job: Job) -> None:
        self._words = words
        self.job = job
        self._said = ""
        # one child alone: the first element of the finished turn replaces it, and nothing of it stays beside the answer
        with st.container(key="live"), st.chat_message("assistant", avatar=MARK), st.container():
            self._thought_box = st.container(key="live-thought", gap=None).empty()
            self._step_box = st.container(key="live-steps", gap=None)
            self._text_box = st.empty()
            self._text = self._begin_text()
            self._note = st.empty()
        self._moves = 0
        self._thought: tuple[str, int, bool] = ("", 0, False)
        self._steps: list[DeltaGenerator] = []
        self._known: list[AnswerStep | None] = []

    def update(self, progress: JobProgress, status: ModelStatus) -> None:
        """Draws the steps, the text and the waiting note as far as they changed since the last call."""
        self._draw_thought(progress)
        self._draw_steps(progress)
        if progress.moves != self._moves:  # what stood there as answer was thought
            self._moves = progress.moves
            self._text = self._begin_text(anew=True)
        self._text.update(progress.text)
        self._draw_note(progress, status)

    def _begin_text(self, *, anew: bool = False) -> GrowingText:
        """Returns an empty text. ``anew``: in place of the one that stands there."""
        if anew:
            forget_cuts()
        key = f"live-answer-{self._moves}" if anew else "live-answer"
        return GrowingText(self._text_box.container(key=key), self.job)

    def _draw_thought(self, progress: JobProgress) -> None:
        """Draws the thoughts, once a second while they grow."""
        is_over = bool(progress.text or progress.steps)
        now = (progress.thought if is_over else "", int(progress.thought_seconds), is_over)
        if progress.thought and now != self._thought:
            self._thought = now
            with self._thought_box.container():
                draw_growing_thought(self._words, progress.thought, progress.thought_seconds, is_over=is_over)

    def _draw_steps(self, progress: JobProgress) -> None:
        for index, step in enumerate(progress.steps):
            if index >= len(self._steps):
                self._steps.append(self._step_box.empty())
                self._known.append(None)
            if self._known[index] != step:
                self._known[index] = step
                with self._steps[index].container():
                    draw_step(self._words, step)

    def _draw_note(self, progress: JobProgress, status: ModelStatus) -> None:
        note = self._waiting_for(progress, status)
        if note != self._said:
            self._said = note
            if note:
                self._note.markdown(f":shimmer[{note}]")
            else:
                self._note.empty()

    def _waiting_for(self, progress: JobProgress, status: ModelStatus) -> str:
        if self.job.stop.is_set():
            return self._words("live.stopping")
        if progress.waiting and status.state != "ready":
            return self._words("live.model")
        if progress.text or progress.thought or any(step.result is None for step in progress.steps):
            return ""
        waited = int(time.monotonic() - self.job.started)
        return self._words("live.thinking") if waited < 3 else self._words("live.thinking_for", seconds=waited)
