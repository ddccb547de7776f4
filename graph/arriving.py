"""The answer as it arrives: its text is written down every second, so that a crash keeps what had come (design §3)."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from errors import GieokError
from graph.event import Event, Token, ToolStarted

log = logging.getLogger(__name__)

SECONDS = 1.0


class Arriving:
    """Hands the events of a turn on to ``emit`` and its text, when a second of it is not kept yet, to ``keep``."""

    def __init__(self, emit: Callable[[Event], None], keep: Callable[[str], None]) -> None:
        self.text = ""
        self._emit = emit
        self._keep = keep
        self._kept = 0.0

    def __call__(self, event: Event) -> None:
        match event:
            case Token(text):
                self._grow(text)
            case ToolStarted():  # what was said before a tool is no part of the answer
                self.text = ""
        self._emit(event)

    def _grow(self, text: str) -> None:
        now = time.monotonic()
        if not self.text:
            self._kept = now
        self.text += text
        if now - self._kept < SECONDS:
            return
        self._kept = now
        try:
            self._keep(self.text)
        except GieokError as error:  # the answer goes on: only a crash would miss it
            log.info("a partial answer was not written: %s", error.code)
