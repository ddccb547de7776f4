"""The connection between a running turn and its starter: events go out, the stop comes in, the text so far is stored
(design 3.3)."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from errors import GieokError
from graph.turn.event import Event, Thought, Token, ToolStarted

log = logging.getLogger(__name__)

SECONDS = 1.0
"""Seconds between two writes of the text of a growing answer."""


class Channel:
    """A channel that passes the events of one turn to ``send`` and carries the user's ``stop`` to the turn.

    ``text``: the answer so far. ``keep`` gets the text once a second, so that a crash does not lose it. ``send`` is
    None where LangGraph's own tools run the graph: the nodes then write into LangGraph's stream.
    """

    def __init__(
        self,
        stop: threading.Event | None = None,
        send: Callable[[Event], None] | None = None,
        keep: Callable[[str], None] | None = None,
    ) -> None:
        self.stop = stop or threading.Event()
        self.send = send
        self.text = ""
        self._keep = keep
        self._kept = 0.0

    @property
    def is_stopped(self) -> bool:
        """Returns whether the user has stopped the turn."""
        return self.stop.is_set()

    def emit(self, event: Event) -> None:
        """Passes one event to ``send``; adds the text of a token to ``text``."""
        match event:
            case Token(text):
                self._grow(text)
            case ToolStarted() | Thought(moved=True):  # the text before is no part of the answer
                self.text = ""
        if self.send is not None:
            self.send(event)

    def _grow(self, text: str) -> None:
        now = time.monotonic()
        if not self.text:
            self._kept = now
        self.text += text
        if self._keep is None or now - self._kept < SECONDS:
            return
        self._kept = now
        try:
            self._keep(self.text)
        except GieokError as error:  # the answer goes on: only a crash would need this text
            log.info("a partial answer was not written: %s", error.code)
