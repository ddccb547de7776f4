"""The answer of a story while it grows."""

from __future__ import annotations

import time

import streamlit as st

from component.answer.growing import GrowingText
from component.page.catalogue import Words
from component.page.frame import MARK
from component.work.readiness import Status
from component.work.side_call import SideCall
from component.world.playing import Asked


class LiveTurn:
    """The place of a growing answer. Create it where the answer belongs, then call ``update`` while it grows."""

    def __init__(self, words: Words, call: SideCall, asked: Asked) -> None:
        self._words, self.call, self._asked = words, call, asked
        self._note = ""
        with st.container(key="live"), st.chat_message("assistant", avatar=MARK):
            self._text = GrowingText(st.container(key="live-answer"), call)
            self._place = st.empty()

    def update(self, status: Status) -> None:
        """Draws the text and the waiting note as far as they changed since the last call."""
        self._text.update(self.call.text)
        note = self._waiting_for(status)
        if note != self._note:
            self._note = note
            if note:
                self._place.markdown(f":shimmer[{note}]")
            else:
                self._place.empty()

    def _waiting_for(self, status: Status) -> str:
        if self.call.stop.is_set():
            return self._words("live.stopping")
        if status.state != "ready":
            return self._words("live.model")
        if self.call.text:
            return ""
        waited = int(time.monotonic() - self._asked.started)
        return self._words("live.thinking") if waited < 3 else self._words("live.thinking_for", seconds=waited)
